"""Documents as they were: read in a version or as of a time, and searched as of a time."""

from __future__ import annotations

import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from counting_embedder import CountingEmbedder

from pinakes.app import App
from pinakes.catalog.history import Retention, sweep
from pinakes.core.errors import InvalidFilter, InvalidInput, NotFound
from pinakes.core.records import Results
from pinakes.library import Library
from pinakes.search import Request
from pinakes.search.as_of import is_moment
from pinakes.services.documents.as_of_snapshots import Asked, Snapshots, moment

WAIT_S = 20
HERONS = "# Herons\n\nHerons stand in shallow water and wait for fish.\n"
STORKS = "# Storks\n\nStorks fly to Africa in autumn, over land.\n"
TERNS = "# Terns\n\nTerns fly from pole to pole.\n"


def found(library: Library, query: str, as_of: str | None = None, **options: Any) -> list[tuple[str, str]]:
    hits = library.search(query, as_of=as_of, **options).hits
    return [(hit.title, hit.text.split("\n")[-1]) for hit in hits]


@pytest.fixture
def times(library: Library) -> list[str]:
    """Put three documents, then change one and delete one; return the times after each step."""
    documents = library.documents
    first = documents.put(HERONS, title="Herons", metadata={"zone": 1}).document
    documents.put(TERNS, title="Terns")
    stork = documents.put(STORKS, title="Storks", tags=["far"]).document
    changed = documents.update(first.uid, text="# Herons\n\nHerons nest in trees.\n", metadata={"zone": 2}).document
    documents.delete(stork.uid)
    gone = documents.history(stork.uid)[0]
    return [first.created_at, stork.created_at, changed.updated_at, gone.at]


def test_a_question_is_answered_by_what_was_there(library: Library, times: list[str]) -> None:
    assert found(library, "water", mode="keyword") == []
    assert found(library, "water", times[1], mode="keyword") == [
        ("Herons", "Herons stand in shallow water and wait for fish.")
    ]
    assert found(library, "autumn", times[2], mode="keyword") == [
        ("Storks", "Storks fly to Africa in autumn, over land.")
    ]
    assert found(library, "autumn", times[3], mode="keyword") == []
    assert {title for title, _ in found(library, "fly", times[1])} >= {"Storks", "Terns"}
    assert [title for title, _ in found(library, "fly", times[0])] == ["Herons"]


def test_filters_and_limits_hold_for_then(library: Library, times: list[str]) -> None:
    assert len(found(library, "herons", times[1], filters={"zone": 1})) == 1
    assert found(library, "herons", times[1], filters={"zone": 2}) == []
    assert [title for title, _ in found(library, "birds", times[1], filters={"tags": "far"})] == ["Storks"]
    assert len(found(library, "birds", times[1], top_k=2)) == 2
    assert found(library, "birds", times[1], min_score=2.0) == []


def test_the_answer_says_so_and_nothing_is_embedded_again(
    open_library: Any, library: Library, times: list[str]
) -> None:
    embedder = library.app.embedder = CountingEmbedder()
    answer = library.search("herons", as_of=times[1])
    assert embedder.texts == []
    assert f"as of {times[1][:19]}Z, with 2 documents as they were then" in answer.notes
    assert answer.collection == "default"
    ids = {hit.title: hit.document_id for hit in answer.hits}
    assert [version.op for version in library.documents.history(ids["Storks"])] == ["deleted", "created"]
    assert library.search("herons", as_of=times[1]).hits == answer.hits


@pytest.mark.parametrize(
    ("day", "words"),
    [("2999-01-01", ", which is in the future: as it is now"), ("1999-01-01", ", before the collection was made (2")],
)
def test_a_time_that_the_collection_has_not_seen_is_told(
    library: Library, times: list[str], day: str, words: str
) -> None:
    assert any(note.startswith(f"as of {day}T23:59:59Z{words}") for note in library.search("herons", as_of=day).notes)


def test_what_was_put_together_follows_the_writers(
    library: Library, times: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    before = found(library, "fly", times[1])
    [folder] = tmp_path.glob("pinakes-past-*")
    tern = library.documents.put(TERNS, title="Terns").document
    library.documents.put("Gulls fly, too.", title="Gulls")
    assert found(library, "fly", times[1]) == before
    library.documents.update(tern.uid, text="Terns dive.")
    library.documents.update(tern.uid, text="Terns dive for fish.")
    answer = library.search("fly", as_of=times[1])
    assert f"as of {times[1][:19]}Z, with 3 documents as they were then" in answer.notes
    assert ("Terns", "Terns fly from pole to pole.") in found(library, "fly", times[1])
    with library.app.catalog.write() as connection:
        assert sweep(connection, library.app.record("default").id, Retention(days=-1)) == 3
    library.documents.put("Owls fly at night.", title="Owls")
    answer = library.search("fly", as_of=times[1])
    assert answer.hits == ()
    assert any("of 2 documents it is not kept" in note for note in answer.notes)
    assert list(tmp_path.glob("pinakes-past-*")) == [folder]
    library.close()
    assert not folder.exists()


def test_it_answers_under_the_new_name_of_a_collection(library: Library, times: list[str]) -> None:
    before = found(library, "fly", times[1])
    library.collecting.rename("default", "birds")
    assert found(library, "fly", times[1], collection="birds") == before


def test_no_question_waits_for_another(library: Library, times: list[str]) -> None:
    """One is held up while it asks; others are answered meanwhile, and what it needs stays though it is forgotten."""
    held, go = threading.Event(), threading.Event()

    def ask(app: App, asked: Asked, name: str, *, beside: bool) -> Results:
        if app is not library.app and not held.is_set():
            held.set()
            assert go.wait(WAIT_S)
        with app.catalog.read():
            return library.search("fly")

    pasts, request = Snapshots(library.app), Request(query="fly", top_k=3)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(pasts.answer, times[1], ask, request, "default")
        assert held.wait(WAIT_S)
        try:
            for at in (times[1], times[0], times[2], times[1]):
                assert pool.submit(pasts.answer, at, ask, request, "default").result(WAIT_S).notes
        finally:
            go.set()
        assert first.result(WAIT_S).hits
    pasts.close()


def test_before_anything_was_there_nothing_is_found(library: Library, times: list[str]) -> None:
    assert found(library, "herons", "2020-01-01") == []
    with pytest.raises(NotFound, match="There was no document 'Herons'"):
        library.read("Herons", as_of="2020-01-01")


def test_what_is_not_kept_is_said(open_library: Any) -> None:
    library = open_library(history__versions=1)
    documents = library.documents
    document = documents.put(HERONS, title="Herons").document
    documents.update(document.uid, text=STORKS)
    documents.update(document.uid, text=TERNS)
    answer = library.search("herons", as_of=document.created_at)
    assert answer.hits == ()
    assert any("of 1 documents it is not kept" in note for note in answer.notes)


def test_documents_are_read_as_they_were(library: Library, times: list[str]) -> None:
    assert "nest" in library.read("Herons").text
    for text in (library.read("Herons", as_of=times[1]), library.read("Herons", version=1)):
        assert (text.text, text.document.version, dict(text.document.metadata)) == (HERONS, 1, {"zone": 1})
    assert library.read("Herons", lines=(3, 3), version=1).text == "Herons stand in shallow water and wait for fish."
    assert library.read("Storks", as_of=times[2]).text == STORKS
    assert library.read("Terns", as_of=times[3]).text == TERNS
    assert "nest" in library.read("Herons", as_of=times[3]).text
    with pytest.raises(NotFound, match="There was no document 'Storks'"):
        library.read("Storks", as_of=times[3])
    with pytest.raises(NotFound, match="Version 7 of 'Herons'"):
        library.read("Herons", version=7)
    with pytest.raises(InvalidInput, match="not both"):
        library.read("Herons", version=1, as_of=times[1])


def test_files_as_they_were_before_a_sync(library: Library, docs: Path) -> None:
    (docs / "birds.md").write_text(HERONS)
    library.add(str(docs))
    then = library.read("birds.md").document.updated_at
    (docs / "birds.md").write_text(STORKS)
    library.sync()
    assert found(library, "water", then, mode="keyword") != []
    assert library.read("birds.md", as_of=then).text == HERONS
    (docs / "birds.md").unlink()
    library.sync()
    assert library.read("birds.md", as_of=then).text == HERONS


def test_a_day_means_its_end_and_times_are_utc() -> None:
    assert moment("2026-01-31") == "2026-01-31T23:59:59.999+00:00"
    assert moment("2026-01-31T18:00") == "2026-01-31T18:00:00.000+00:00"
    assert moment("2026-01-31T18:00+02:00") == "2026-01-31T16:00:00.000+00:00"
    for words in ("yesterday", "", "2026-13-01", "0001-01-01T00:00+05:00", "9999-12-31T23:00-05:00"):
        with pytest.raises(InvalidInput, match="is no day or time"):
            moment(words)


def test_how_long_ago_is_a_time_to_the_minute() -> None:
    for words, seconds in (("90m", 5_400), ("12h", 43_200), ("2d", 172_800), ("2d ago", 172_800), ("3 w", 1_814_400)):
        then = datetime.fromisoformat(moment(words))
        assert 0 <= (datetime.now(UTC) - then).total_seconds() - seconds <= 120
        assert then.second == then.microsecond == 0
    for words in ("2x", "d", "-2d", "999999w", "2d3"):
        with pytest.raises(InvalidInput, match="is no day or time"):
            moment(words)


def test_a_commit_of_digits_and_a_letter_is_no_time() -> None:
    for commit in ("123456d", "482913d", "123456D", "4829131d"):
        assert not is_moment(commit), commit
    for words in ("12345d", "99999m", "1234 d ago"):
        assert is_moment(words), words


def test_filters_may_ask_for_the_time_of_the_last_change(library: Library, times: list[str]) -> None:
    assert [title for title, _ in found(library, "birds", filters={"@updated_at": {"gte": times[2]}})] == ["Herons"]
    assert [title for title, _ in found(library, "birds", filters={"@created_at": {"lte": times[0]}})] == ["Herons"]
    assert len(found(library, "birds", filters={"@updated_at": {"gte": "2020"}})) == 2
    with pytest.raises(InvalidFilter, match="is a time"):
        library.search("birds", filters={"@updated_at": "x"})
