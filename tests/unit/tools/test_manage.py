"""The tools that put documents in, change them and take them out, word for word as they were promised."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from pinakes.library import Library
from pinakes.tools import TOOLS

BY_NAME = {tool.name: tool for tool in TOOLS}
TEXT = "Leave is requested in the portal. Unused days are carried over until March.\n"
UNKNOWN = str(uuid.UUID(int=7))


@pytest.fixture
def library(tmp_path: Path) -> Iterator[Library]:
    with Library.open(tmp_path / "home", embedding__provider="deterministic", documents__max_tokens=400) as opened:
        yield opened


def answer(library: Library, tool: str, /, **arguments: Any) -> dict[str, Any]:
    outcome = BY_NAME[tool].answer(library, arguments)
    assert outcome.data is not None
    assert outcome.failed == (outcome.error is not None)
    jsonschema.validate(outcome.data, BY_NAME[tool].output_schema() or {})
    return outcome.data


def ingest(library: Library, title: str = "Leave", text: str = TEXT, **rest: Any) -> dict[str, Any]:
    return answer(library, "ingest_document", title=title, text=text, **rest)


def state(library: Library) -> list[tuple[str, int, int]]:
    """Return name, documents and tokens of every collection, to see that nothing was written."""
    return [(one.name, one.documents, one.tokens) for one in library.collecting.list_all()]


def paths_outside(home: Path) -> list[str]:
    """Return what lies beside the home."""
    return sorted(path.name for path in home.parent.iterdir() if path != home)


class TestIngesting:
    def test_a_document_is_found_as_soon_as_the_call_returns(self, library: Library) -> None:
        done = ingest(library, tags=["hr", "leave"], metadata={"year": 2026}, summary="How leave works.")
        assert uuid.UUID(done.pop("doc_id")).version == 4
        assert done == {
            "title": "Leave",
            "collection": "default",
            "chunk_count": 1,
            "token_count": done["token_count"],
            "summary": "How leave works.",
            "status": "indexed",
            "outcome": "created",
            "version": 1,
        }
        assert done["token_count"] > 10
        [hit] = library.search("unused days", filters={"tags": "hr", "year": 2026, "source": "manual"}).hits
        assert hit.title == "Leave"

    def test_a_source_without_a_value_is_none_and_no_word(self, library: Library) -> None:
        none: dict[str, Any] = {"source": None, "metadata": {"source": None, "year": None}}
        one = ingest(library, "One", **none)["doc_id"]
        batch = answer(library, "ingest_batch", documents=[{"title": "Two", "text": TEXT, **none}])
        two = batch["results"][0]["doc_id"]
        three = library.documents.put(TEXT, title="Three", **none).document.uid
        for uid in (one, two, three):
            answer(library, "update_document", doc_id=uid, metadata={"source": None, "tags": None})
            told = answer(library, "get_document_metadata", doc_id=uid)
            assert "None" not in str(told)
            assert (told["source"], told["metadata"]) == (f"urn:uuid:{uid}" if told["source"] else "", {})
        assert "None" not in answer(library, "collection_stats")["source_distribution"]

    def test_a_source_is_text_however_it_is_given(self, library: Library) -> None:
        put = library.documents.put(TEXT, title="One", metadata={"source": ["a", 1]}).document
        assert put.source == library.documents.update(put.uid, metadata={"source": ["a", 1]}).document.source
        assert put.source == '["a", 1]'

    def test_a_summary_is_made_where_none_is_given(self, library: Library) -> None:
        assert ingest(library)["summary"] == TEXT.strip()

    def test_the_same_again_makes_no_second_document(self, library: Library) -> None:
        first, again = ingest(library, tags=["hr"]), ingest(library)
        assert (again["doc_id"], again["outcome"], again["version"]) == (first["doc_id"], "unchanged", 1)
        assert answer(library, "get_document_metadata", doc_id=first["doc_id"])["tags"] == ["hr"]
        other = ingest(library, source="mail")
        assert other["doc_id"] != first["doc_id"]

    def test_collections_are_made_by_the_first_document_and_kept_apart(self, library: Library) -> None:
        done = ingest(library, collection="handbook")
        assert done["collection"] == "handbook"
        assert ingest(library)["collection"] == "default"
        assert [one[:2] for one in state(library)] == [("default", 1), ("handbook", 1)]
        told = {
            "error": "Document not found",
            "hint": f"Give collection 'handbook' for {done['doc_id']!r}.",
            "not_found": [done["doc_id"]],
        }
        assert answer(library, "get_document_metadata", doc_id=done["doc_id"])["collection"] == "handbook"
        assert answer(library, "get_document_metadata", doc_id=done["doc_id"], collection="default") == told
        assert answer(library, "update_document", doc_id=done["doc_id"], title="Mine") == told
        assert answer(library, "delete_document", doc_id=done["doc_id"], collection="default") == told
        assert (
            answer(library, "get_document_metadata", doc_id=done["doc_id"], collection="handbook")["title"] == "Leave"
        )

    def test_words_that_models_use_for_parameters_and_lists_are_understood(self, library: Library) -> None:
        arguments = {"title": "Leave", "content": TEXT, "collection_name": "hr", "tags": "a, b", "metadata": '{"x": 1}'}
        done = answer(library, "ingest_document", **arguments)
        about = answer(library, "get_document_metadata", id=done["doc_id"], collection="hr")
        assert (about["tags"], about["metadata"]) == (["a", "b"], {"x": 1})

    @pytest.mark.parametrize(
        ("arguments", "told"),
        [
            ({"title": " "}, {"error": "Title must not be empty"}),
            ({"title": "\n", "text": ""}, {"error": "Title must not be empty"}),
            ({"text": " \n\t"}, {"error": "Text must not be empty"}),
            ({"text": "word " * 500}, {"error": "Document exceeds max tokens"}),
            ({"title": None}, {"error": "Invalid arguments for ingest_document: title is missing."}),
            ({"text": 7}, {"error": "Invalid arguments for ingest_document: text cannot be 7: it has to be text."}),
            ({"title": "x" * 1001}, {}),
            ({"tags": 7}, {"error": "Invalid arguments for ingest_document: tags cannot be 7: it has to be a list."}),
            ({"tags": ["a", 7]}, {}),
            ({"metadata": "x"}, {}),
            ({"metadata": {"a": float("inf")}}, {}),
            ({"author": "A"}, {"error": "Invalid arguments for ingest_document: there is no parameter 'author'."}),
            ({"title": "\ud800"}, {"error": "An argument holds half a character (a lone surrogate)."}),
            ({"collection": "../../evil"}, {}),
            ({"collection": "a/b"}, {}),
            ({"collection": "*"}, {}),
            ({"collection": "a,b"}, {}),
            ({"collection": "\0"}, {}),
        ],
    )
    def test_what_cannot_be_stored_is_told_and_leaves_nothing(
        self, library: Library, tmp_path: Path, arguments: dict[str, Any], told: dict[str, Any]
    ) -> None:
        outside = paths_outside(library.settings.home)
        data = answer(library, "ingest_document", **({"title": "Leave", "text": TEXT} | arguments))
        assert data["status"] == "error"
        assert data["error"]
        assert told.items() <= data.items()
        assert state(library) == []
        assert paths_outside(library.settings.home) == outside

    def test_one_document_of_a_megabyte_is_taken(self, tmp_path: Path) -> None:
        text = "".join(f"Line {number} of a long document about leave.\n" for number in range(25_000))
        assert len(text) > 1_000_000
        with Library.open(tmp_path, embedding__provider="deterministic") as library:
            done = ingest(library, text=text)
            assert (done["status"], library.documents.get(done["doc_id"]).text) == ("indexed", text)


class TestBatches:
    def test_one_bad_document_does_not_keep_49_good_ones_out(self, library: Library) -> None:
        documents: list[Any] = [{"title": f"Note {n}", "text": f"Text of note {n}.", "tags": ["n"]} for n in range(50)]
        documents[7] = {"title": "Bad", "text": "  "}
        data = answer(library, "ingest_batch", documents=documents, collection="notes")
        assert (data["total"], data["succeeded"], data["failed"]) == (50, 49, 1)
        assert data["results"][7] == {"title": "Bad", "status": "error", "error": "Text must not be empty"}
        good = [one for one in data["results"] if one["status"] == "indexed"]
        assert [one["title"] for one in good] == [f"Note {n}" for n in range(50) if n != 7]
        assert data["total_tokens_indexed"] == sum(one["token_count"] for one in good) == state(library)[0][2]
        about = answer(library, "get_document_metadata", doc_id=good[0]["doc_id"], collection="notes")
        assert (about["source"], about["tags"]) == ("batch", ["n"])

    def test_more_documents_than_allowed_are_all_refused(self, library: Library) -> None:
        documents = [{"title": f"Note {n}", "text": "Text."} for n in range(51)]
        data = answer(library, "ingest_batch", documents=documents)
        assert data == {
            "total": 51,
            "succeeded": 0,
            "failed": 51,
            "results": [],
            "total_tokens_indexed": 0,
            "error": "Batch size exceeds maximum",
            "hint": "At most 50 documents at once.",
        }
        assert state(library) == []

    def test_each_wrong_document_is_told_in_its_place(self, library: Library) -> None:
        documents: list[Any] = [
            "text",
            {"title": "A"},
            {"text": TEXT, "title": " "},
            {"title": "B", "text": TEXT, "other": 1},
            {"title": "C", "text": TEXT, "collection": "elsewhere"},
            {"title": "D", "text": "word " * 500},
            {"title": "E", "content": TEXT, "source": None},
        ]
        data = answer(library, "ingest_batch", documents=documents)
        assert [one.get("error") for one in data["results"]] == [
            "A document has to be an object with title and text.",
            "Invalid arguments for ingest_document: text is missing.",
            "Title must not be empty",
            "Invalid arguments for ingest_document: there is no parameter 'other'.",
            "All documents of a batch go into one collection.",
            "Document exceeds max tokens",
            None,
        ]
        assert (data["succeeded"], data["failed"]) == (1, 6)
        assert library.documents.get(data["results"][6]["doc_id"]).source == "batch"

    @pytest.mark.parametrize("documents", [None, 7, {"title": "A", "text": TEXT}])
    def test_what_is_no_list_is_refused_as_a_whole(self, library: Library, documents: Any) -> None:
        data = answer(library, "ingest_batch", documents=documents)
        assert data["error"].startswith("Invalid arguments for ingest_batch: documents ")
        assert (data["total"], data["results"]) == (0, [])

    def test_an_empty_batch_is_no_trouble(self, library: Library) -> None:
        data = answer(library, "ingest_batch", documents=[])
        assert (data["total"], data["succeeded"], data["failed"], data["results"]) == (0, 0, 0, [])


class TestChanging:
    def test_only_what_is_given_changes(self, library: Library) -> None:
        doc_id = ingest(library, tags=["hr"], metadata={"year": 2026, "team": "people"})["doc_id"]
        done = answer(library, "update_document", doc_id=doc_id, metadata={"year": 2027})
        assert done == {"doc_id": doc_id, "status": "updated", "changed": True, "version": 2}
        about = answer(library, "get_document_metadata", doc_id=doc_id)
        assert about["metadata"] == {"year": 2027, "team": "people"}
        assert (about["title"], about["tags"], about["version"]) == ("Leave", ["hr"], 2)
        answer(library, "update_document", doc_id=doc_id, text="Another text about parking.", tags=[])
        document = library.documents.get(doc_id)
        assert (document.text, document.tags, document.summary) == (
            "Another text about parking.",
            (),
            "Another text about parking.",
        )
        answer(library, "update_document", doc_id=doc_id, title="Zygote", summary="All of parking, xylophone too.")
        for words in ("zygote", "parking", "xylophone"):
            assert [hit.document_id for hit in library.search(words, mode="keyword").hits] == [doc_id]

    def test_a_change_to_what_is_so_already_says_so(self, library: Library) -> None:
        doc_id = ingest(library)["doc_id"]
        done = answer(library, "update_document", doc_id=doc_id, title="Leave", text=TEXT)
        assert done == {"doc_id": doc_id, "status": "updated", "changed": False, "version": 1}

    def test_a_change_to_another_version_is_refused(self, library: Library) -> None:
        doc_id = ingest(library)["doc_id"]
        answer(library, "update_document", doc_id=doc_id, title="Holidays", if_version=1)
        refused = answer(library, "update_document", doc_id=doc_id, title="Vacation", if_version=1)
        assert refused["error"] == f"Document {doc_id!r} is version 2 now, not version 1."
        refused = answer(library, "delete_document", doc_id=doc_id, if_version=1)
        assert refused["error"] == f"Document {doc_id!r} is version 2 now, not version 1."
        assert answer(library, "get_document_metadata", doc_id=doc_id)["title"] == "Holidays"

    @pytest.mark.parametrize(
        ("arguments", "error"),
        [
            ({"doc_id": UNKNOWN, "title": "X"}, "Document not found"),
            ({"doc_id": "../../etc/passwd", "title": "X"}, "Document not found"),
            ({"title": " "}, "Title must not be empty"),
            ({"text": ""}, "Text must not be empty"),
            ({"text": "word " * 500}, "Document exceeds max tokens"),
            ({"doc_id": ""}, "Invalid arguments for update_document: doc_id cannot be ''"),
            ({"doc_id": None}, "Invalid arguments for update_document: doc_id is missing."),
            ({"doc_id": 7}, "Invalid arguments for update_document: doc_id cannot be 7: it has to be text."),
            ({"if_version": -1}, "Invalid arguments for update_document: if_version cannot be -1"),
            ({"colour": "red"}, "Invalid arguments for update_document: there is no parameter 'colour'."),
            ({"collection": "nowhere", "title": "X"}, "There is no collection 'nowhere'."),
        ],
    )
    def test_what_cannot_be_changed_is_told_and_stays(
        self, library: Library, arguments: dict[str, Any], error: str
    ) -> None:
        doc_id = ingest(library)["doc_id"]
        before = library.documents.get(doc_id)
        data = answer(library, "update_document", **({"doc_id": doc_id} | arguments))
        assert data["error"].startswith(error)
        assert library.documents.get(doc_id) == before

    def test_a_deleted_document_is_gone_everywhere_and_can_be_restored(self, library: Library) -> None:
        doc_id = ingest(library, tags=["hr"])["doc_id"]
        assert answer(library, "delete_document", doc_id=doc_id) == {"doc_id": doc_id, "deleted": True}
        assert library.search("unused days").hits == ()
        for name in ("get_document_metadata", "delete_document", "update_document"):
            assert answer(library, name, doc_id=doc_id) == {"error": "Document not found", "not_found": [doc_id]}
        assert answer(library, "collection_stats")["document_count"] == 0
        restored = answer(library, "restore_document", doc_id=doc_id)
        assert (restored["doc_id"], restored["title"], restored["status"]) == (doc_id, "Leave", "restored")
        assert [hit.document_id for hit in library.search("unused days").hits] == [doc_id]

    def test_history_tells_what_happened_and_gives_old_texts(self, library: Library) -> None:
        doc_id = ingest(library)["doc_id"]
        answer(library, "update_document", doc_id=doc_id, text="Another text.")
        answer(library, "delete_document", doc_id=doc_id)
        history = answer(library, "document_history", doc_id=doc_id, version=1)
        assert [one["operation"] for one in history["versions"]] == ["deleted", "updated", "created"]
        assert "text" in history["versions"][1]["changed"]
        assert history["text"] == TEXT
        answer(library, "restore_document", doc_id=doc_id, version=1)
        assert library.documents.get(doc_id).text == TEXT
        for name in ("document_history", "restore_document"):
            assert answer(library, name, doc_id=UNKNOWN)["error"] == "Document not found"


class TestSeeing:
    def test_all_is_told_of_a_document_except_its_text(self, library: Library) -> None:
        doc_id = ingest(library, source="mail", tags=["hr"], metadata={"year": 2026}, summary="About leave.")["doc_id"]
        about = answer(library, "get_document_metadata", doc_id=doc_id)
        created = datetime.fromisoformat(about.pop("created_at"))
        assert created.utcoffset() is not None
        assert datetime.fromisoformat(about.pop("updated_at")) >= created
        assert about.pop("token_count") > 10
        assert about.pop("uri") == f"urn:uuid:{doc_id}"
        assert about == {
            "summary": "About leave.",
            "summary_by": "given",
            "doc_id": doc_id,
            "title": "Leave",
            "source": "mail",
            "collection": "default",
            "tags": ["hr"],
            "chunk_count": 1,
            "metadata": {"year": 2026},
            "version": 1,
        }

    def test_a_collection_is_told_in_figures(self, library: Library) -> None:
        first = ingest(library, "A", "One text.", tags=["x", "y"], source="mail")
        second = ingest(library, "B", "Two texts.", tags=["x"])
        stats = answer(library, "collection_stats", collection="default")
        assert stats["tag_distribution"] == {"x": 2, "y": 1}
        assert stats["source_distribution"] == {"mail": 1, "manual": 1}
        assert stats["document_count"] == stats["total_chunks"] == 2
        assert stats["total_tokens"] == first["token_count"] + second["token_count"]
        assert stats["avg_tokens_per_doc"] == stats["total_tokens"] / 2
        assert stats["oldest_document"] <= stats["newest_document"]
        assert stats["index_size_bytes"] > 0

    def test_an_empty_home_has_one_empty_default_collection(self, library: Library) -> None:
        empty = {"name": "default", "document_count": 0, "total_tokens": 0, "description": ""}
        told = answer(library, "list_collections")
        assert told["collections"] == [empty]
        assert "no collections yet" in told["notes"][0]
        stats = answer(library, "collection_stats")
        assert (stats["collection"], stats["document_count"], stats["oldest_document"]) == ("default", 0, "")
        told = {"error": "Document not found", "not_found": [UNKNOWN]}
        assert answer(library, "get_document_metadata", doc_id=UNKNOWN) == told
        assert state(library) == []

    def test_collections_are_listed_with_what_they_hold(self, library: Library) -> None:
        done = ingest(library, collection="handbook")
        library.collecting.describe("handbook", "How we work.")
        library.collecting.create("empty")
        assert answer(library, "list_collections")["collections"] == [
            {"name": "empty", "document_count": 0, "total_tokens": 0, "description": ""},
            {
                "name": "handbook",
                "document_count": 1,
                "total_tokens": done["token_count"],
                "description": "How we work.",
            },
        ]

    @pytest.mark.parametrize(
        ("name", "arguments", "error"),
        [
            ("get_document_metadata", {}, "Invalid arguments for get_document_metadata: doc_id is missing."),
            ("get_document_metadata", {"doc_id": UNKNOWN}, "Document not found"),
            ("get_document_metadata", {"doc_id": UNKNOWN, "collection": "x"}, "There is no collection 'x'."),
            ("delete_document", {"doc_id": UNKNOWN}, "Document not found"),
            ("delete_document", {"doc_id": [UNKNOWN]}, "Invalid arguments for delete_document: doc_id cannot be ["),
            ("collection_stats", {"collection": "nowhere"}, "There is no collection 'nowhere'."),
            ("collection_stats", {"collection": "../../evil"}, "There is no collection '../../evil'."),
            ("collection_stats", {"collection": 7}, "Invalid arguments for collection_stats: collection cannot be 7"),
            ("list_collections", {"name": "x"}, "Invalid arguments for list_collections: there is no parameter 'name'"),
        ],
    )
    def test_what_is_not_there_is_told(
        self, library: Library, name: str, arguments: dict[str, Any], error: str
    ) -> None:
        ingest(library)
        before = state(library)
        assert answer(library, name, **arguments)["error"].startswith(error)
        assert state(library) == before
