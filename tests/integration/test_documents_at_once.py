"""Threads that write the same documents at the same time."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

from pinakes.errors import Conflict
from pinakes.library import Library

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
