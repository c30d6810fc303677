"""Threads that write the same documents at the same time."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import pytest
from counting_embedder import CountingEmbedder

from pinakes.core.errors import Conflict, InvalidInput, NotFound
from pinakes.core.records import Float32
from pinakes.library import Library
from pinakes.services.documents.editing import Draft, WrittenDocument

OpenLibrary = Callable[..., Library]

THREADS = 6


def test_the_same_document_put_by_many_is_one(library: Library) -> None:
    with ThreadPoolExecutor(THREADS) as pool:
        written = list(pool.map(lambda _: library.documents.put("Herons fish.", title="Herons"), range(THREADS)))
    assert len({one.document.uid for one in written}) == 1
    assert sorted(one.outcome for one in written) == ["created", *["unchanged"] * (THREADS - 1)]
    assert library.verify() == {"default": []}


def test_no_change_to_one_document_is_lost(library: Library) -> None:
    uid = library.documents.put("Herons fish.", title="Herons").document.uid

    def work(thread: int) -> None:
        for number in range(5):
            library.documents.update(uid, metadata={f"f{thread}-{number}": 1}, text=f"Herons fish {thread} {number}.")

    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(work, range(THREADS)))
    document = library.documents.get(uid)
    assert len(document.metadata) == THREADS * 5
    assert document.version == 1 + THREADS * 5
    assert library.verify() == {"default": []}


def test_of_writers_who_name_a_version_one_wins(library: Library) -> None:
    uid = library.documents.put("Herons fish.", title="Herons").document.uid

    def work(thread: int) -> str:
        try:
            library.documents.update(uid, text=f"By {thread}.", if_version=1)
        except Conflict:
            return "conflict"
        return f"By {thread}."

    with ThreadPoolExecutor(THREADS) as pool:
        said = list(pool.map(work, range(THREADS)))
    assert said.count("conflict") == THREADS - 1
    assert [one for one in said if one != "conflict"] == [library.documents.get(uid).text]


def test_documents_are_put_changed_and_deleted_while_others_search(library: Library) -> None:
    def write(thread: int) -> None:
        for number in range(6):
            uid = library.documents.put(f"Heron {thread} {number}.", title=f"Bird {thread} {number}").document.uid
            library.documents.update(uid, tags=["seen"])
            if number % 2:
                library.documents.delete(uid)
                assert not any(hit.document_id == uid for hit in library.search("heron", top_k=50).hits)

    def search(_: int) -> None:
        for _ in range(20):
            library.search("heron", "default", filters={"tags": "seen"})

    library.documents.put("The first heron.", title="First")
    with ThreadPoolExecutor(THREADS) as pool:
        for done in [pool.submit(write, 0), pool.submit(write, 1), pool.submit(write, 2), pool.submit(search, 0)]:
            done.result()
    assert library.status()[0].documents == 1 + 3 * 3
    assert library.verify() == {"default": []}


def test_a_document_that_is_refused_keeps_no_other_out_of_a_new_collection(open_library: OpenLibrary) -> None:
    library = open_library(documents__max_tokens=20)

    def work(thread: int, name: str) -> str:
        ready.wait()
        try:
            return library.documents.put(
                "word " * (40 if thread == 0 else 5), title=f"{thread}", collection=name
            ).outcome
        except InvalidInput:
            return "refused"

    with ThreadPoolExecutor(THREADS) as pool:
        for number in range(15):
            ready = threading.Barrier(THREADS)
            said = list(pool.map(work, range(THREADS), [f"new {number}"] * THREADS))
            assert said == ["refused", *["created"] * (THREADS - 1)]
            assert library.status(f"new {number}")[0].documents == THREADS - 1
    assert library.verify() == {f"new {number}": [] for number in range(15)}


def test_vectors_that_go_with_another_collection_are_made_again(library: Library) -> None:
    """A collection that has the same text is deleted between the look for its vectors and the writing."""
    texts = {"Herons": "Herons fish.", "Storks": "Storks fly."}
    for title, text in texts.items():
        library.documents.put(text, title=title, collection=title)

    class Deleting(CountingEmbedder):
        def embed(self, texts: Sequence[str]) -> Float32:
            for name in [one.name for one in library.collections() if one.name in ("Herons", "Storks")][:1]:
                library.collecting.delete(name)
            return super().embed(texts)

    embedder = library.app.embedder = Deleting()
    drafts = [Draft(text, title) for title, text in texts.items()]
    written = library.documents.put_many([*drafts, Draft("Terns dive.", "Terns")], collection="birds")
    assert [one.outcome for one in written if isinstance(one, WrittenDocument)] == ["created"] * 3
    assert library.status("birds")[0].pending == 0
    assert [text.split("\n")[0] for text in embedder.texts] == ["Terns", "Herons"]
    assert library.verify() == {"birds": []}


@pytest.mark.parametrize("is_filled", [True, False])
def test_a_collection_that_goes_while_it_is_written_to_is_not_found_unless_it_was_empty(
    library: Library, is_filled: bool
) -> None:
    library.collecting.create("birds")
    if is_filled:
        library.documents.put("Herons fish.", title="Herons", collection="birds")

    class Deleting(CountingEmbedder):
        def embed(self, texts: Sequence[str]) -> Float32:
            if not self.texts:
                library.collecting.delete("birds")
            return super().embed(texts)

    library.app.embedder = Deleting()
    if is_filled:
        with pytest.raises(NotFound, match="was deleted meanwhile"):
            library.documents.put("Terns dive.", title="Terns", collection="birds")
        assert library.collections() == []
    else:
        assert library.documents.put("Terns dive.", title="Terns", collection="birds").outcome == "created"
        assert library.verify() == {"birds": []}
