"""Documents put by processes that are killed, or that write the same one at once: none is half there, none is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from children import KILLED, Child, run, together
from test_crash import opened

DOCUMENTS = 12


@pytest.fixture
def home(tmp_path: Path) -> Path:
    return tmp_path / "home"


def texts(home: Path) -> dict[str, str]:
    """Return uri → text of what is there, once it was made sure that the index has all of it."""
    with opened(home) as library:
        if not library.collections():
            return {}
        assert library.verify("c") == {"c": []}
        [about] = library.status("c")
        found = {hit.uri: hit.document_id for hit in library.search("heron", "c", mode="keyword", top_k=1000).hits}
        assert (about.documents, about.pending) == (len(found), 0)
        return {one.uri: one.text for one in library.documents.get_many(list(found.values()), collection="c")}


@pytest.mark.parametrize(
    ("point", "number"),
    [
        ("embedding", 3),
        ("addition", 1),
        ("addition", -5),
        ("keyword", 5),
        ("keyword", -6),
        ("keyword", 19),
        ("keyword", -20),
        ("position", 7),
        ("vectors", 4),
        ("snapshot", -1),
    ],
)
def test_a_kill_while_putting(point: str, number: int, home: Path) -> None:
    code, said = run(home, "put", Path("first"), point=point, number=number)
    assert code == KILLED
    before = texts(home)
    assert {f"x:{number}" for number in said.split()} <= before.keys(), "what was said to be there is there"
    assert all("first" in text and "It eats fish." in text for text in before.values())
    assert run(home, "put", Path("first"))[0] == 0
    assert texts(home).keys() == {f"x:{number}" for number in range(DOCUMENTS)}


@pytest.mark.parametrize(("point", "number"), [("rewriting", 3), ("rewriting", -4), ("history", -6), ("keyword", 5)])
def test_a_kill_while_replacing(point: str, number: int, home: Path) -> None:
    assert run(home, "put", Path("first"))[0] == 0
    assert run(home, "put", Path("second"), point=point, number=number)[0] == KILLED
    after = texts(home)
    assert len(after) == DOCUMENTS
    assert all(("first" in text) != ("second" in text) for text in after.values())
    assert 0 < sum("second" in text for text in after.values()) < DOCUMENTS
    with opened(home) as library:
        for uri, text in after.items():
            uid = library.read(uri, "c").document.uid
            versions = library.documents.history(uid, collection="c")
            assert len(versions) == 1 + ("second" in text)
            assert "first" in library.documents.version(uid, 1, collection="c")


def test_processes_that_change_one_document_lose_nothing_of_each_other(home: Path) -> None:
    with opened(home) as library:
        uid = library.documents.put("A heron.", title="Shared", uri="x:shared", collection="c").document.uid
    children = [Child(home, "update", Path(name)) for name in ("a", "b", "c")]
    assert together(children) == [(0, "")] * 3
    with opened(home) as library:
        document = library.documents.get(uid, collection="c")
        assert dict(document.metadata) == {f"{name}{number}": number for name in "abc" for number in range(15)}
        versions = library.documents.history(uid, collection="c")
        assert [one.number for one in versions] == list(range(46, 0, -1))
        assert document.version == 46
        assert document.text.endswith(", 14.")
        for version in versions[:20]:
            assert library.documents.version(uid, version.number, collection="c").startswith("A heron of ")
        assert library.verify() == {"c": []}
