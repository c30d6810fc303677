"""Messages of Outlook: who and what they name."""

from __future__ import annotations

import pytest

from pinakes.parsing.office import with_head

HEAD = 'Subject: Reports\nFrom: "Doe, Ann" <{}>\nTo: "Bo" <bo@example.org>'
BODY = 'Hello "Bo" </o=x>,\n\nSee the report.\n'


@pytest.mark.parametrize(
    "address",
    ["/O=ACME/OU=SALES/CN=RECIPIENTS/CN=H0700000", "/o=Labs/ou=Group (ABC)/cn=Recipients/cn=c3-Doe, An", "/o=x"],
)
def test_people_are_named_without_their_names_in_a_directory(address: str) -> None:
    head = HEAD.format(address)
    assert with_head(f"{head}\n\n{BODY}", ()) == f"{head.replace(f' <{address}>', '')}\n\n{BODY}"


@pytest.mark.parametrize("names", [["a.pdf"], ["a.pdf", "Old\nmessage"], [f"{at}.doc" for at in range(3)]])
def test_attachments_are_named_in_the_head(names: list[str]) -> None:
    head = HEAD.format("ann@example.org")
    shown = ", ".join(" ".join(name.split()) for name in names)
    assert with_head(f"{head}\n\n{BODY}", names) == f"{head}\nAttachments: {shown}\n\n{BODY}"
