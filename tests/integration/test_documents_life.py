"""Documents put one by one: the same again, changed, deleted, brought back, with their histories."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from chat_server import serving
from counting_embedder import CountingEmbedder
from late_embedder import LateEmbedder
from sqlalchemy import select

from pinakes.catalog import schema
from pinakes.catalog.documents import summary_key
from pinakes.catalog.summaries import summary_vectors
from pinakes.core.errors import Conflict, InvalidInput, NotFound, PinakesError, Refused
from pinakes.core.filters import parse
from pinakes.library import Library
from pinakes.services.documents.editing import Documents, Draft

TEXT = "# Herons\n\nHerons stand in shallow water and wait for fish.\n\n## Nests\n\nThey nest in trees.\n"
OTHER = "# Storks\n\nStorks fly to Africa in autumn.\n"


@pytest.fixture
def documents(library: Library) -> Documents:
    return library.documents


def titles(library: Library, query: str, **options: Any) -> list[str]:
    return [hit.title for hit in library.search(query, mode="keyword", **options).hits]


def ops(documents: Documents, uid: str) -> list[str]:
    return [version.op for version in documents.history(uid)]


class TestPutting:
    def test_what_is_put_is_there_and_found_at_once(self, library: Library, documents: Documents) -> None:
        written = documents.put(
            TEXT, title=" Herons ", tags=["birds", "birds ", ""], metadata={"zone": 3}, source="field notes"
        )
        document = written.document
        assert written.outcome == "created"
        assert (document.title, document.text, document.version, document.collection) == ("Herons", TEXT, 1, "default")
        assert (document.tags, document.source, dict(document.metadata)) == (("birds",), "field notes", {"zone": 3})
        assert document.chunk_count == len(documents.chunks(document.uid))
        assert document.token_count == 27
        assert documents.get(document.uid) == document
        for filters in ({"tags": "birds"}, {"source": "field notes"}, {"zone": 3}):
            assert titles(library, "fish", filters=filters) == ["Herons"]
        assert titles(library, "fish", filters={"tags": "fishes"}) == []
        assert library.verify() == {"default": []}

    def test_the_same_again_is_the_same_document(self, documents: Documents) -> None:
        first = documents.put(TEXT, title="Herons", source="a")
        again = documents.put(TEXT, title="Herons", source="a")
        assert (again.outcome, again.document) == ("unchanged", first.document)
        assert documents.put(TEXT, title="Herons", source="b").document.uid != first.document.uid
        assert documents.put(TEXT, title="Other birds", source="a").document.uid != first.document.uid
        assert ops(documents, first.document.uid) == ["created"]

    def test_the_same_with_other_tags_is_changed(self, documents: Documents) -> None:
        first = documents.put(TEXT, title="Herons", tags=["a"], metadata={"x": 1, "y": 2})
        again = documents.put(TEXT, title="Herons", tags=["b"], metadata={"x": 1})
        assert (again.outcome, again.document.uid) == ("updated", first.document.uid)
        assert (again.document.tags, dict(again.document.metadata)) == (("b",), {"x": 1})
        kept = documents.put(TEXT, title="Herons").document
        assert (kept.tags, dict(kept.metadata)) == (("b",), {"x": 1}), "what is not given stays"

    def test_a_uri_is_replaced_and_nothing_is_embedded_twice(self, library: Library, documents: Documents) -> None:
        embedder = library.app.embedder = CountingEmbedder()
        uri = "https://example.org/docs/birds.md"
        first = documents.put(TEXT, title="Birds", uri=uri, metadata={"x": 1})
        embedded = len(embedder.texts)
        assert embedded == first.document.chunk_count
        assert documents.put(TEXT, title="Birds", uri=uri, metadata={"x": 2}).outcome == "updated"
        assert len(embedder.texts) == embedded
        second = documents.put(OTHER, title="Birds", uri=uri)
        assert (second.outcome, second.document.uid, second.document.text) == ("updated", first.document.uid, OTHER)
        assert (second.document.uri, second.document.path, second.document.version) == (uri, "docs/birds.md", 3)
        assert titles(library, "fish") == []
        assert titles(library, "africa") == ["Birds"]
        documents.put(TEXT, title="Birds", uri=uri)
        assert len(embedder.texts) == embedded + second.document.chunk_count

    @pytest.mark.parametrize(
        ("values", "words"),
        [
            ({"title": " \n"}, "Title must not be empty"),
            ({"text": "\n \t"}, "Text must not be empty"),
            ({"title": "x" * 1001}, "1001 characters"),
            ({"uri": "x" * 4097}, "4097 characters"),
            ({"summary": "x" * 4001}, "4001 characters"),
            ({"tags": ["good", "x" * 201]}, "201 characters"),
            ({"metadata": {"x": "x" * 20_000}}, "characters"),
            ({"kind": "novel"}, "of kind 'novel'"),
            ({"tags": "one"}, "Tags cannot be 'one'"),
            ({"tags": [1]}, "Tags cannot be"),
            ({"metadata": {"x": object()}}, "Metadata cannot be kept"),
            ({"metadata": {"x": float("nan")}}, "Metadata cannot be kept"),
            ({"metadata": {"x": "\ud800"}}, "Metadata cannot be kept"),
            ({"metadata": json.loads('{"x":' * 60 + "1" + "}" * 60)}, "Metadata cannot be kept"),
            ({"metadata": {1: "x"}}, "must be a text"),
        ],
    )
    def test_what_cannot_be_used_is_refused_and_makes_no_collection(
        self, values: dict[str, Any], words: str, library: Library, documents: Documents
    ) -> None:
        with pytest.raises(InvalidInput, match=words):
            documents.put(**{"text": TEXT, "title": "T", "collection": "fresh"} | values)
        assert library.collections() == []

    def test_too_many_tokens_are_refused_in_the_tokens_of_the_document(self, open_library: Any) -> None:
        library = open_library(documents__max_tokens=20)
        with pytest.raises(InvalidInput, match="exceeds max tokens") as refusal:
            library.documents.put("word " * 40, title="Long")
        assert "It has 4" in refusal.value.hint
        assert library.collections() == []
        short = library.documents.put("word " * 10, title="Short").document
        with pytest.raises(InvalidInput, match="exceeds max tokens"):
            library.documents.update(short.uid, text="word " * 40)
        assert library.documents.get(short.uid) == short

    def test_odd_characters_are_mended(self, documents: Documents) -> None:
        document = documents.put("one\r\ntwo\x00\rthree \ud800", title="a\nb\tc").document
        assert (document.text, document.title) == ("one\ntwo\nthree ?", "a b c")

    def test_of_a_batch_one_may_be_bad(self, library: Library, documents: Documents) -> None:
        drafts = [Draft(f"Bird number {n}.", f"Bird {n}") for n in range(49)]
        drafts.insert(20, Draft("", "Nothing"))
        results = documents.put_many(drafts)
        assert [n for n, one in enumerate(results) if isinstance(one, PinakesError)] == [20]
        assert library.status()[0].documents == 49
        assert library.verify() == {"default": []}

    def test_a_batch_may_name_a_document_twice(self, documents: Documents) -> None:
        same = Draft(TEXT, "Herons")
        at = [Draft(text, "Birds", uri="x:birds") for text in (TEXT, OTHER)]
        results = documents.put_many([same, same, *at])
        assert not any(isinstance(one, PinakesError) for one in results)
        first, second, _, last = (one.document for one in results if not isinstance(one, PinakesError))
        assert first.uid == second.uid
        assert (last.text, last.version) == (OTHER, 2)

    def test_one_document_of_a_megabyte_works(self, library: Library, documents: Documents) -> None:
        text = "\n\n".join(f"Paragraph {n} tells of herons and of water lilies." * 20 for n in range(1000))
        assert len(text) > 900_000
        document = documents.put(text, title="Long").document
        assert documents.get(document.uid).text == text
        assert library.status()[0].pending == 0
        assert titles(library, "paragraph 731", top_k=1) == ["Long"]

    def test_code_is_cut_as_code(self, documents: Documents) -> None:
        text = "def heron():\n    return 'fish'\n"
        document = documents.put(text, title="birds.py", kind="code").document
        assert (document.kind, document.language) == ("code", "python")
        assert documents.chunks(document.uid)[0].symbols == ("heron",)
        assert documents.put(text, title="x", kind="code", path="a/b.go").document.language == "go"

    def test_without_a_model_words_are_found_and_vectors_follow(self, open_library: Any, tmp_path: Path) -> None:
        library = open_library()
        library.app.embedder = LateEmbedder(tmp_path)
        written = library.documents.put(TEXT, title="Herons", summary="On ardeidae.")
        assert written.degraded
        assert titles(library, "fish") == ["Herons"]
        assert library.status()[0].pending == written.document.chunk_count
        (tmp_path / "arrived").touch()
        library.embed_pending()
        assert library.status()[0].pending == 0
        record = library.collection()
        with library.app.catalog.read() as connection:
            assert len(summary_vectors(connection, record.id, record.model_id)[0]) == 1


class TestSummariesByAModel:
    def test_a_new_text_gets_one_which_is_searched_and_embedded(self, open_library: Any) -> None:
        with serving(lambda _: "All there is to know about ardeidae.") as chat:
            library = open_library(chat__url=chat.url, chat__model="m")
            first = library.documents.put(TEXT, title="Herons").document
            assert (first.summary, first.summary_by) == ("All there is to know about ardeidae.", "chat")
            assert titles(library, "ardeidae") == ["Herons"]
            given = library.documents.put(OTHER, title="Storks", summary="About ciconiidae.").document
            assert given.summary_by == "given"
            assert len(chat.seen) == 1, "nobody is asked for a summary that is given"
            library.documents.update(first.uid, tags=["a"])
            library.documents.put(TEXT, title="Herons", tags=["b"])
            assert len(chat.seen) == 1, "nor for one that is there"
            library.documents.update(first.uid, text="Herons fly, too.")
            assert len(chat.seen) == 2
            record = library.collection()
            with library.app.catalog.read() as connection:
                ids, vectors = summary_vectors(connection, record.id, record.model_id)
            assert (len(ids), len(vectors)) == (2, 2)

    def test_where_it_fails_sentences_of_the_text_are_there(self, open_library: Any) -> None:
        with serving(lambda _: (500, b"no")) as chat:
            library = open_library(chat__url=chat.url, chat__model="m")
            document = library.documents.put(TEXT, title="Herons").document
        assert (document.summary_by, "shallow water" in document.summary) == ("extractive", True)


class TestUpdating:
    def test_only_what_is_given_changes(self, library: Library, documents: Documents) -> None:
        old = documents.put(TEXT, title="Herons", tags=["a"], metadata={"x": 1, "y": 2}, source="s").document
        new = documents.update(old.uid, metadata={"y": None, "z": 3}).document
        assert dict(new.metadata) == {"x": 1, "z": 3}
        assert (new.title, new.text, new.tags, new.source) == (old.title, old.text, old.tags, old.source)
        assert (new.version, new.created_at) == (2, old.created_at)
        assert new.updated_at > old.updated_at
        assert titles(library, "fish", filters={"z": 3}) == ["Herons"]
        assert titles(library, "fish", filters={"y": 2}) == []
        assert documents.update(old.uid, metadata={"z": 3}).outcome == "unchanged"
        assert [version.changed for version in documents.history(old.uid)] == [("metadata",), ()]

    def test_a_new_title_is_found_by_words_and_in_the_chunks(self, library: Library, documents: Documents) -> None:
        uid = documents.put(TEXT, title="Herons").document.uid
        document = documents.update(uid, title="Waders").document
        assert (document.title, document.path) == ("Waders", "Waders")
        assert titles(library, "waders") == ["Waders"]
        with library.app.catalog.read() as connection:
            assert all("Waders" in header for header in connection.scalars(select(schema.chunks.c.header)))
        assert library.verify() == {"default": []}

    def test_a_given_summary_is_found_by_its_words_and_embedded(self, library: Library, documents: Documents) -> None:
        uid = documents.put(TEXT, title="Herons").document.uid
        assert documents.get(uid).summary_by == "extractive"
        document = documents.update(uid, summary="Everything about ardeidae.").document
        assert (document.summary, document.summary_by) == ("Everything about ardeidae.", "given")
        assert titles(library, "ardeidae") == ["Herons"]
        record = library.collection()
        with library.app.catalog.read() as connection:
            ids, vectors = summary_vectors(connection, record.id, record.model_id)
        assert (len(ids), vectors.shape[0]) == (1, 1)
        expected = library.app.embedder.embed(["Everything about ardeidae."])[0]
        assert np.abs(vectors[0] - expected).max() < 1e-3
        assert summary_key(document.summary) != summary_key("")
        documents.update(uid, text=OTHER)
        assert titles(library, "ardeidae") == []
        assert library.verify() == {"default": []}

    def test_nothing_is_cut_or_embedded_for_tags_alone(self, library: Library, documents: Documents) -> None:
        uid = documents.put(TEXT, title="Herons").document.uid
        with library.app.catalog.read() as connection:
            before = list(connection.scalars(select(schema.chunks.c.id)))
        documents.update(uid, tags=["new"])
        with library.app.catalog.read() as connection:
            assert list(connection.scalars(select(schema.chunks.c.id))) == before

    def test_another_version_is_a_conflict_that_says_which(self, documents: Documents) -> None:
        uid = documents.put(TEXT, title="Herons").document.uid
        assert documents.update(uid, tags=["a"], if_version=1).document.version == 2
        for change in (
            lambda: documents.update(uid, tags=["b"], if_version=1),
            lambda: documents.delete(uid, if_version=1),
            lambda: documents.put(TEXT, title="Herons", tags=["b"], if_version=1),
            lambda: documents.put(TEXT, title="Herons", if_version=0),
        ):
            with pytest.raises(Conflict, match="is version 2 now, not version"):
                change()
        with pytest.raises(Conflict, match="is not there, not version 4"):
            documents.put("New.", title="New", if_version=4)
        assert documents.get(uid).tags == ("a",)

    def test_unknown_ids_and_those_of_other_collections_are_not_found(self, documents: Documents) -> None:
        uid = documents.put(TEXT, title="Herons", collection="one").document.uid
        documents.put(TEXT, title="Herons", collection="two")
        for change in (documents.get, documents.update, documents.delete, documents.chunks, documents.history):
            for unknown in (uid, "nothing", ""):
                with pytest.raises(NotFound, match=f"There is no document '{unknown}'"):
                    change(unknown, collection="two")
        with pytest.raises(NotFound, match="no collection 'three'"):
            documents.update(uid, collection="three", title="x")


class TestDeletingAndRestoring:
    def test_deleted_is_gone_from_everywhere(self, library: Library, documents: Documents) -> None:
        uid = documents.put(TEXT, title="Herons").document.uid
        assert documents.delete(uid).uid == uid
        assert titles(library, "fish") == []
        assert (library.status()[0].documents, library.verify()) == (0, {"default": []})
        with pytest.raises(NotFound) as missing:
            documents.get(uid)
        assert f"pinakes document restore {uid}" in missing.value.hint
        [(found, version)] = documents.deleted()
        assert (found, version.op, version.title) == (uid, "deleted", "Herons")

    def test_restored_is_the_same_and_nothing_is_embedded(self, library: Library, documents: Documents) -> None:
        embedder = library.app.embedder = CountingEmbedder()
        before = documents.put(TEXT, title="Herons", tags=["a"], summary="About ardeidae.", source="s").document
        documents.delete(before.uid)
        embedded = len(embedder.texts)
        after = documents.restore(before.uid).document
        assert len(embedder.texts) == embedded
        same = ("uid", "title", "text", "tags", "source", "summary", "summary_by", "created_at", "uri", "path")
        assert [getattr(after, name) for name in same] == [getattr(before, name) for name in same]
        assert (after.chunk_count, after.version) == (before.chunk_count, 3)
        assert titles(library, "fish") == titles(library, "ardeidae") == ["Herons"]
        assert ops(documents, before.uid) == ["restored", "deleted", "created"]
        assert documents.deleted() == []
        assert library.verify() == {"default": []}

    def test_old_versions_are_read_and_restored(self, documents: Documents) -> None:
        uid = documents.put("One.", title="First", tags=["a"]).document.uid
        documents.update(uid, tags=["b"])
        documents.update(uid, text="Two.", title="Second")
        documents.update(uid, summary="Said otherwise.")
        assert [documents.version(uid, number) for number in (1, 2, 3, 4)] == ["One.", "One.", "Two.", "Two."]
        history = documents.history(uid)
        assert [(one.number, one.title, one.changed) for one in history] == [
            (4, "Second", ("summary",)),
            (3, "Second", ("title", "text", "path")),
            (2, "First", ("tags",)),
            (1, "First", ()),
        ]
        assert all(one.readable and one.by == "local (python)" for one in history)
        restored = documents.restore(uid, version=1).document
        assert (restored.title, restored.text, restored.tags, restored.version) == ("First", "One.", ("a",), 5)
        assert ops(documents, uid)[0] == "restored"
        with pytest.raises(NotFound, match="Version 9"):
            documents.version(uid, 9)
        with pytest.raises(InvalidInput, match="is not deleted"):
            documents.restore(uid)

    def test_another_document_at_its_uri_is_a_conflict(self, documents: Documents) -> None:
        uid = documents.put(TEXT, title="Herons", uri="x:1").document.uid
        documents.delete(uid)
        documents.put(OTHER, title="Storks", uri="x:1")
        with pytest.raises(Conflict, match="At 'x:1' stands another document"):
            documents.restore(uid)

    def test_many_are_deleted_in_one_step(self, library: Library, documents: Documents) -> None:
        for number in range(5):
            documents.put(f"Bird {number}.", title=f"Bird {number}", tags=["odd" if number % 2 else "even"])
        gone = documents.delete_many(None, parse({"tags": "even"}), lambda one: one.title != "Bird 4")
        assert sorted(one.title for one in gone) == ["Bird 0", "Bird 2"]
        assert library.status()[0].documents == 3
        assert documents.delete_many(None, parse({"tags": "none"})) == []

    @pytest.mark.parametrize(("days", "versions"), [(0, 20), (30, 0), (30, 2)])
    def test_as_much_is_kept_as_the_settings_say(self, days: int, versions: int, open_library: Any) -> None:
        documents = open_library(history__days=days, history__versions=versions).documents
        uid = documents.put("Text 1.", title="T").document.uid
        for number in (2, 3, 4, 5):
            documents.update(uid, text=f"Text {number}.")
        kept = [one.number for one in documents.history(uid) if one.readable]
        assert kept == ([5] if 0 in (days, versions) else [5, 4, 3])
        assert len(documents.history(uid)) == 5, "that it happened is known all the same"
        documents.delete(uid)
        if days:
            assert documents.restore(uid).document.text == "Text 5."
        else:
            with pytest.raises(NotFound):
                documents.history(uid)

    def test_what_is_too_old_is_dropped(self, open_library: Any) -> None:
        library = open_library()
        documents = library.documents
        gone = documents.put("Gone.", title="Gone").document.uid
        documents.delete(gone)
        changed = documents.put("One.", title="Changed").document.uid
        documents.update(changed, text="Two.")
        with library.app.catalog.write() as connection:
            then = "2020-01-01T00:00:00.000+00:00"
            versions = schema.versions.update()
            connection.execute(versions.values(at=then))
            connection.execute(versions.where(schema.versions.c.until.is_not(None)).values(until=then))
        documents.put("Fresh.", title="Fresh")
        assert documents.deleted() == []
        with pytest.raises(NotFound):
            documents.history(gone)
        assert [one.readable for one in documents.history(changed)] == [True, False]


class TestDocumentsOfFiles:
    @pytest.fixture
    def file(self, docs: Path) -> Path:
        path = docs / "birds.md"
        path.write_text("---\nzone: north\ntags: [old]\n---\n" + TEXT)
        return path

    @pytest.fixture
    def uid(self, library: Library, docs: Path, file: Path) -> str:
        library.add(str(docs))
        return library.read("birds.md").document.uid

    def test_their_text_belongs_to_the_file(self, uid: str, documents: Documents) -> None:
        document = documents.get(uid)
        assert document.of_file
        assert document.source.endswith("birds.md")
        for change in (lambda: documents.update(uid, text=OTHER), lambda: documents.update(uid, title="Other")):
            with pytest.raises(Refused, match=r"is the file 'birds\.md'"):
                change()
        with pytest.raises(Refused, match="stands the document of a file"):
            documents.put(OTHER, title="Other", uri=document.uri)

    def test_what_was_given_to_them_outlives_changes_of_the_file(
        self, uid: str, file: Path, library: Library, documents: Documents
    ) -> None:
        documents.update(uid, tags=["new"], metadata={"zone": "south", "seen": 2}, summary="All about ardeidae.")
        file.write_text("---\nzone: west\nmore: 1\n---\n" + OTHER)
        assert library.sync()[0].changed == 1
        document = documents.get(uid)
        assert document.text.endswith(OTHER)
        assert document.tags == ("new",)
        assert {"zone": "south", "seen": 2, "more": 1}.items() <= dict(document.metadata).items()
        assert (document.summary, document.summary_by) == ("All about ardeidae.", "given")
        assert titles(library, "ardeidae") == [document.title]
        assert library.verify() == {"default": []}

    def test_sync_writes_histories_that_can_be_read(
        self, uid: str, file: Path, docs: Path, library: Library, documents: Documents
    ) -> None:
        file.write_text(OTHER)
        library.sync()
        file.rename(docs / "moved.md")
        library.sync()
        assert ops(documents, uid) == ["moved", "updated", "created"]
        assert documents.history(uid)[0].changed == ("uri", "path")
        assert documents.version(uid, 1).endswith(TEXT)
        (docs / "moved.md").unlink()
        library.sync()
        assert ops(documents, uid)[0] == "deleted"
        restored = documents.restore(uid).document
        assert (restored.text, restored.path, restored.of_file) == (OTHER, "moved.md", False)
        library.sync()
        assert documents.get(uid).text == OTHER, "a sync does not take it away again"

    def test_one_that_is_deleted_stays_away_until_its_file_changes(
        self, uid: str, file: Path, library: Library, documents: Documents
    ) -> None:
        documents.delete(uid)
        report = library.sync()[0]
        assert (report.added, report.changed, library.status()[0].documents) == (0, 0, 0)
        assert [(one.path, "deleted by hand" in one.reason) for one in report.skipped] == [("birds.md", True)]
        file.write_text(OTHER)
        assert library.sync()[0].added == 1
        assert titles(library, "africa") != []

    def test_one_that_is_restored_belongs_to_its_file_again(
        self, uid: str, file: Path, library: Library, documents: Documents
    ) -> None:
        embedder = library.app.embedder = CountingEmbedder()
        documents.delete(uid)
        restored = documents.restore(uid).document
        assert (restored.of_file, embedder.texts) == (True, [])
        report = library.sync()[0]
        assert (report.unchanged + report.reread, embedder.texts) == (1, [])
        file.write_text(OTHER)
        library.sync()
        assert documents.get(uid).text == OTHER
        assert library.verify() == {"default": []}

    def test_an_old_version_is_not_restored_over_another_document(
        self, uid: str, file: Path, library: Library, documents: Documents
    ) -> None:
        file.rename(file.with_name("moved.md"))
        library.sync()
        documents.delete(uid)
        file.with_name("moved.md").unlink()
        library.sync()
        documents.restore(uid)
        file.write_text(OTHER)
        library.sync()
        with pytest.raises(Conflict, match="stands another document"):
            documents.restore(uid, version=1)
        assert documents.get(uid).path == "moved.md"
