"""What is masked in a push or left out of it is named in the answer, by its kind and line, and stays noted."""

from __future__ import annotations

import base64
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from planted import Maker

from pinakes import parsing
from pinakes.core.records import JSON
from pinakes.library import Library
from pinakes.testing import write_files
from pinakes.tools import TOOLS

TOKEN = "glpat-" + Maker(21).of("abcdefABCDEF0123456789", 20)
OTHER = "npm_" + Maker(22).of("abcdefABCDEF0123456789", 36)
TEXT = f"# Keys\n\nThe key of the river gauge is {TOKEN}.\nAnother one is {OTHER}.\n"
NAMED = ["a GitLab token was masked (line 3)", "an npm token was masked (line 4)"]

Push = Callable[[Library, str], dict[str, Any]]


def answered(library: Library, name: str, **arguments: JSON) -> dict[str, Any]:
    [tool] = [one for one in TOOLS if one.name == name]
    data = tool.answer(library, arguments).data
    assert data is not None
    return data


def by_batch(library: Library, text: str) -> dict[str, Any]:
    documents: list[JSON] = [{"title": "Keys", "text": text, "source": "batch"}]
    [result] = answered(library, "ingest_batch", documents=documents)["results"]
    assert isinstance(result, dict)
    return result


def by_update(library: Library, text: str) -> dict[str, Any]:
    there = library.documents.put("Nothing yet.", title="Keys", uri="note:keys").document
    return answered(library, "update_document", doc_id=there.uid, text=text)


PUSHES: dict[str, Push] = {
    "ingest_document": lambda library, text: answered(library, "ingest_document", title="Keys", text=text),
    "ingest_batch": by_batch,
    "update_document": by_update,
    "index_content": lambda library, text: answered(
        library, "index_content", content_type="documentation", source_path="keys.md", content=text
    ),
    "manageKnowledge": lambda library, text: answered(
        library, "manageKnowledge", operation="ingest", uri="https://river.example/keys.md", content=text
    ),
}


@pytest.fixture(params=PUSHES)
def push(request: pytest.FixtureRequest) -> Push:
    return PUSHES[request.param]


def stored_notes(library: Library) -> list[str]:
    return [note["message"] for one in library.status() for note in one.notes]


def test_credentials_of_a_push_are_named_as_those_of_files_are(push: Push, library: Library, docs: Path) -> None:
    report = library.add(str(write_files(docs, {"keys.md": TEXT})), "files")
    of_file = [str(note) for _, note in report.notes]
    told = push(library, TEXT)["notes"]
    assert told == of_file
    assert ["line 3" in told[0], "line 4" in told[1]] == [True, True]
    assert not any(secret in str(told) for secret in (TOKEN, OTHER))


def test_a_push_without_credentials_or_data_has_no_notes(push: Push, library: Library) -> None:
    assert "notes" not in push(library, "# River\n\nThe gauge stands at the bridge.\n")


def test_what_is_pushed_again_is_named_again(push: Push, library: Library) -> None:
    assert push(library, TEXT).get("notes") == push(library, TEXT)["notes"]


PICTURE = base64.b64encode(random.Random(3).randbytes(3000)).decode()
DATA = {
    "uri": f"![gauge](data:image/png;base64,{PICTURE})",
    "block": "\n".join(PICTURE[start : start + 76] for start in range(0, len(PICTURE), 76)),
    "run": f"The picture: {PICTURE}",
}


@pytest.mark.parametrize("kind", DATA)
def test_embedded_data_of_a_push_is_left_out_as_that_of_files_is(
    kind: str, push: Push, library: Library, docs: Path
) -> None:
    text = f"# Gauge\n\nThe gauge of the river stands at the bridge.\n\n{DATA[kind]}\n\nIt was built in May.\n"
    report = library.add(str(write_files(docs, {"gauge.md": text})), "files")
    assert push(library, text)["notes"] == [str(note) for _, note in report.notes]
    with library.app.catalog.read() as connection:
        from pinakes.catalog import schema

        texts = list(connection.scalars(schema.documents.select().with_only_columns(schema.documents.c.text)))
    assert PICTURE[:60] not in "".join(texts)
    assert sum("It was built in May." in one for one in texts) == 2
    assert sum(len(one) for one in texts) < 1000


def test_what_stood_unread_before_is_brought_to_the_same(library: Library) -> None:
    written = library.documents.put(f"Gauge.\n\n{DATA['uri']}\n", title="Gauge")
    assert [note.code for note in written.notes] == ["embedded-data"]
    again = library.documents.put(f"Gauge.\n\n{DATA['uri']}\n", title="Gauge")
    assert (again.outcome, again.document.uid) == ("unchanged", written.document.uid)


@pytest.mark.parametrize(
    ("given", "named"),
    [
        ({"metadata": {"note": TOKEN}}, "a credential in title or metadata was masked"),
        ({"title": f"Keys {TOKEN}"}, "a credential in title or metadata was masked"),
        ({"summary": f"It is {TOKEN}."}, "a credential in summary was masked"),
        ({"tags": [OTHER]}, "a credential in tags was masked"),
        ({"uri": f"https://bot:{TOKEN}@r.io/x", "tags": [OTHER]}, "a credential in uri and tags was masked"),
    ],
)
def test_credentials_beside_the_text_are_named(given: dict[str, Any], named: str, library: Library) -> None:
    written = library.documents.put("The river.", **{"title": "River", **given})
    assert named in [str(note) for note in written.notes]
    assert TOKEN not in str(written)
    assert OTHER not in str(written)


@pytest.mark.parametrize(
    "edit", [{"title": "Another title"}, {"title": "Another title", "tags": ["x"]}, {"tags": ["x"]}, {"summary": "It."}]
)
def test_an_edit_beside_the_text_keeps_its_notes(edit: dict[str, Any], library: Library) -> None:
    uid = library.documents.put(TEXT, title="Keys").document.uid
    before = stored_notes(library)
    assert len(before) == 2
    library.documents.update(uid, **edit)
    library.documents.update(uid, **edit)
    assert stored_notes(library) == before


def test_the_stored_text_given_back_keeps_its_notes_and_another_text_does_not(library: Library) -> None:
    document = library.documents.put(TEXT, title="Keys", uri="note:keys").document
    before = stored_notes(library)
    library.documents.update(document.uid, title="Other", text=document.text)
    assert stored_notes(library) == before
    library.documents.put(document.text, title="Third", uri="note:keys")
    assert stored_notes(library) == before
    library.documents.update(document.uid, text="No keys.")
    assert stored_notes(library) == []


def test_documents_of_files_that_are_gone_are_not_to_be_read_for_ever(
    open_library: Callable[..., Library], docs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_files(docs, {"tea.md": "# Tea\n\ngreen tea\n", "coffee.md": "# Coffee\n\nespresso\n", "milk.md": "# Milk\n"})
    library = open_library(sources=[{"location": str(docs), "on_delete": "keep"}], ingest__processes=0)
    library.sync()
    (docs / "tea.md").unlink()
    library.sync()
    monkeypatch.setitem(parsing.VERSIONS, "markdown", parsing.VERSIONS["markdown"] + 1)
    [now] = library.status()
    assert now.upgrade is not None
    assert (now.upgrade.to_read, now.upgrade.kept) == (3, 0), "whether the file is there is not known before a sync"
    library.sync()
    [now] = library.status()
    assert now.upgrade is not None
    assert (now.upgrade.to_read, now.upgrade.kept, now.upgrade.is_done, now.upgrade.made_by) == (0, 1, True, {})
    write_files(docs, {"tea.md": "# Tea\n\ngreen tea\n"})
    library.sync()
    [now] = library.status()
    assert now.upgrade is not None
    assert (now.upgrade.to_read, now.upgrade.kept) == (0, 0)
