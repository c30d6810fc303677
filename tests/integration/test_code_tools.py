"""Contents put in by their paths, and how they stand when something went wrong."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import failing_reader
import pytest

from pinakes.cli.hit_lines import line_of
from pinakes.library import Library
from pinakes.models.embedders import EMBEDDERS
from pinakes.parsing import READERS
from pinakes.tools import TOOLS

BY_NAME = {tool.name: tool for tool in TOOLS}
SLAB = (
    "#include <linux/slab.h>\n\n/* Allocate a zeroed object from a cache. */\n"
    "void *kmem_cache_zalloc(struct kmem_cache *cache, gfp_t flags)\n{\n"
    "\treturn kmem_cache_alloc(cache, flags | __GFP_ZERO);\n}\n"
)


def answer(library: Library, name: str, **arguments: Any) -> dict[str, Any]:
    outcome = BY_NAME[name].answer(library, arguments)
    assert outcome.data is not None
    assert outcome.failed == (outcome.error is not None)
    return outcome.data


def found(library: Library, **arguments: Any) -> list[dict[str, Any]]:
    results: list[dict[str, Any]] = answer(library, "semantic_search", **arguments)["results"]
    return results


def embedded_texts(library: Library) -> list[str]:
    """Return the texts that the counting embedder of a library was given."""
    return list(library.app.embedder.texts)  # type: ignore[attr-defined]


class TestStatus:
    def test_what_failed_what_is_old_and_what_waits_add_up_to_all(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "pinakes.parsing.failing_reader", failing_reader)
        monkeypatch.setitem(READERS, ".oops", "failing_reader:FailingReader")
        folder = tmp_path / "src"
        folder.mkdir()
        for name, text in {"a.c": "int a;\n", "b.oops": "fine before\n", "c.oops": "odd"}.items():
            (folder / name).write_text(text)
        settings = {"embedding__provider": "deterministic", "ingest__processes": 0}
        with Library.open(tmp_path / "home", **settings) as library:
            assert answer(library, "get_index_status")["system_stats"]["total_content"] == 0
            library.add(str(folder), "kernel")
            (folder / "b.oops").write_text("odd by now")
            library.sync("kernel")
            stats = answer(library, "get_index_status")["system_stats"]
            assert stats["status_breakdown"] == {"completed": 1, "pending": 0, "failed": 1, "stale": 1}
            assert stats["content_by_type"] == {"source_file": 1, "documentation": 2, "config": 0}
            assert stats["total_content"] == 3
            failed = answer(library, "get_index_status", content_id="c.oops")["content_status"]
            assert (failed["status"], "cannot parse" in failed["error_message"]) == ("failed", True)
            assert "indexed_at" not in failed
            stale = answer(library, "get_index_status", content_id="b.oops")["content_status"]
            assert (stale["status"], "cannot parse" in stale["error_message"]) == ("stale", True)

    def test_what_no_model_embedded_is_pending(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        with Library.open(tmp_path, embedding__path=str(tmp_path / "no-model")) as library:
            done = answer(library, "index_content", content_type="config", source_path="a.toml", content="a = 1\n")
            assert (done["status"], "embedding_id" in done) == ("pending", False)
            status = answer(library, "get_index_status", content_id="a.toml")
            assert status["content_status"]["status"] == "pending"
            assert status["content_status"]["error_message"] == "1 of 1 chunks wait to be embedded"
            assert status["system_stats"]["status_breakdown"]["pending"] == 1
            assert status["system_stats"]["embedding_models"] == []


class TestIndexing:
    @pytest.fixture
    def empty(self, tmp_path: Path) -> Iterator[Library]:
        with Library.open(tmp_path / "home", embedding__provider="deterministic") as opened:
            yield opened

    def test_a_file_is_put_in_under_its_path_and_found_by_its_type(self, empty: Library) -> None:
        text = SLAB
        done = answer(empty, "index_content", content_type="source_file", source_path="mm/slab.c", content=text)
        assert set(done) == {"content_id", "status", "embedding_id", "indexing_stats"}
        assert done["status"] == "completed"
        stats = done["indexing_stats"]
        assert stats["content_hash"] == hashlib.sha256(text.encode()).hexdigest()
        assert stats["content_length"] == len(text)
        assert 0 < stats["embedding_time"] < 60
        assert 0 < stats["storage_time"] < 60
        [result] = found(empty, query="kmem_cache_zalloc", content_types=["source_file"], file_paths=["mm/*"])
        assert (result["content_id"], result["source_path"]) == (done["content_id"], "mm/slab.c")
        assert empty.documents.get(done["content_id"]).language == "c"

    def test_what_is_said_of_a_content_wins_over_what_its_name_says(self, empty: Library) -> None:
        answer(empty, "index_content", content_type="documentation", source_path="examples/a.c", content="int a;\n")
        assert found(empty, query="int a", content_types=["source_file"]) == []
        for types in (["documentation"], ["Documentation"], "DOCUMENTATION", "config, documentation"):
            [result] = found(empty, query="int a", content_types=types)
        assert result["content_type"] == "documentation"
        types = answer(empty, "get_index_status")["system_stats"]["content_by_type"]
        assert types == {"source_file": 0, "documentation": 1, "config": 0}

    def test_unchanged_content_is_embedded_again_only_when_that_is_forced(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(EMBEDDERS, "counting", "counting_embedder:CountingEmbedder")
        with Library.open(tmp_path / "home", embedding__provider="counting") as library:
            given = {"content_type": "config", "source_path": "a.toml", "content": "[memory]\nslab = true\n"}
            first = answer(library, "index_content", **given)
            embedded = embedded_texts(library)
            assert embedded
            again = answer(library, "index_content", **given)
            assert embedded_texts(library) == embedded
            assert again["indexing_stats"]["embedding_time"] == 0
            forced = answer(library, "index_content", **given, force_reindex=True)
            assert embedded_texts(library) == embedded + embedded
            assert forced["indexing_stats"]["embedding_time"] > 0
            assert first["content_id"] == again["content_id"] == forced["content_id"]
            assert again["previous_content_id"] == first["content_id"]
            assert first["embedding_id"] == forced["embedding_id"]
            assert not any(library.verify().values())

    def test_many_at_once_get_ids_of_their_own_and_one_path_gets_one(self, empty: Library) -> None:
        def put(number: int) -> str:
            path = f"src/{number % 12}.c"
            done = answer(
                empty, "index_content", content_type="source_file", source_path=path, content=f"int a{number};\n"
            )
            assert done["status"] == "completed"
            return str(done["content_id"])

        with ThreadPoolExecutor(8) as threads:
            ids = list(threads.map(put, range(24)))
        assert ids[:12] == ids[12:]
        assert len(set(ids)) == 12
        assert answer(empty, "get_index_status")["system_stats"]["total_content"] == 12
        assert not any(empty.verify().values())

    def test_to_embed_again_needs_the_model(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("HF_HUB_OFFLINE", "1")
        with Library.open(tmp_path, embedding__path=str(tmp_path / "no-model")) as library:
            given = {"content_type": "config", "source_path": "a.toml", "content": "memory = true\n"}
            error = answer(library, "index_content", **given, force_reindex=True)["error"]
            assert (error["code"], error["retryable"]) == ("EMBEDDING_FAILED", True)
            assert found(library, query="memory")[0]["similarity_score"] == 0

    def test_changed_content_takes_the_place_of_what_was_there(self, empty: Library) -> None:
        given = {"content_type": "source_file", "source_path": "a.c"}
        first = answer(empty, "index_content", **given, content="int alpha;\n", metadata={"author": "A"})
        second = answer(empty, "index_content", **given, content="int beta;\n", title="Beta")
        assert second["previous_content_id"] == first["content_id"] == second["content_id"]
        assert second["embedding_id"] != first["embedding_id"]
        document = empty.documents.get(first["content_id"])
        assert (document.title, document.text, document.version) == ("Beta", "int beta;\n", 2)
        assert len(found(empty, query="alpha beta")) == 1

    def test_a_file_of_a_source_becomes_what_is_pushed_until_it_is_read(self, empty: Library, tmp_path: Path) -> None:
        (tmp_path / "linux" / "mm").mkdir(parents=True)
        (tmp_path / "linux" / "mm" / "slab.c").write_text(SLAB)
        empty.add(str(tmp_path / "linux"), "default")
        given = {"content_type": "documentation", "source_path": "mm/slab.c"}
        before = empty.read("mm/slab.c").document.uid
        same = answer(empty, "index_content", **given, content=SLAB)
        assert (same["content_id"], same["status"]) == (before, "completed")
        [result] = found(empty, query="kmem_cache_zalloc", content_types=["documentation"], max_results=1)
        assert "changed" not in result
        (tmp_path / "linux" / "mm" / "slab.c").write_text(f"{SLAB}\nint later;\n")
        assert found(empty, query="kmem_cache_zalloc", max_results=1)[0]["changed"] is True
        pushed = answer(empty, "index_content", **given, content="another_text();\n")
        assert pushed["content_id"] == pushed["previous_content_id"] == before
        document = empty.documents.get(before)
        assert (document.text, document.path, document.of_file) == ("another_text();\n", "mm/slab.c", True)
        assert found(empty, query="another_text", max_results=1)[0]["changed"] is True, "the file says something else"
        (tmp_path / "linux" / "mm" / "slab.c").write_text("another_text();\n")
        assert "changed" not in found(empty, query="another_text", max_results=1)[0]
        [report] = empty.sync()
        assert (report.changed, report.unchanged, report.embedded) == (0, 1, 0), "nothing is read or embedded twice"
        answer(empty, "index_content", **given, content="not_in_the_file();\n")
        assert empty.sync()[0].changed == 1
        assert empty.documents.get(before).text == "another_text();\n", "what the file says counts"
        assert empty.status()[0].documents == 1
        assert not any(empty.verify().values())

    @pytest.mark.parametrize(
        "spelled",
        [
            "mm/slab.c",
            "./mm/slab.c",
            "mm/../mm/slab.c",
            "{root}/mm/slab.c",
            "{root}/./mm//slab.c",
            "{root}/../link/mm/slab.c",
            "file://{root}/mm/slab.c",
        ],
    )
    @pytest.mark.parametrize("known", [True, False], ids=["a known file", "a new file"])
    def test_a_file_of_a_source_is_one_document_however_its_path_is_spelled(
        self, empty: Library, tmp_path: Path, spelled: str, known: bool
    ) -> None:
        root = tmp_path / "linux"
        (root / "mm").mkdir(parents=True)
        (tmp_path / "link").symlink_to(root)
        (root / "other.c").write_text("int other;\n")
        if known:
            (root / "mm" / "slab.c").write_text(SLAB)
        empty.add(str(root))
        (root / "mm" / "slab.c").write_text(SLAB)
        path = spelled.format(root=root)
        first = answer(empty, "index_content", content_type="source_file", source_path=path, content="int pushed;\n")
        assert ("previous_content_id" in first) is known
        document = empty.documents.get(first["content_id"])
        assert (document.uri, document.path) == ((root / "mm/slab.c").as_uri(), "mm/slab.c")
        again = answer(empty, "index_content", content_type="source_file", source_path=path, content="int again;\n")
        assert again["content_id"] == first["content_id"]
        empty.sync()
        assert empty.documents.get(first["content_id"]).text == SLAB
        assert empty.status()[0].documents == 2

    def test_a_path_that_several_documents_have_is_refused(self, empty: Library, tmp_path: Path) -> None:
        for name in ("one", "two"):
            (tmp_path / name).mkdir()
            (tmp_path / name / "a.c").write_text(f"int {name};\n")
            empty.add(str(tmp_path / name))
        given = {"content_type": "source_file", "content": "int pushed;\n"}
        error = answer(empty, "index_content", **given, source_path="a.c")["error"]
        assert error["code"] == "INVALID_INPUT"
        assert all((tmp_path / name / "a.c").as_uri() in error["message"] for name in ("one", "two"))
        done = answer(empty, "index_content", **given, source_path=str(tmp_path / "two" / "a.c"))
        assert empty.documents.get(done["content_id"]).uri == (tmp_path / "two" / "a.c").as_uri()
        assert empty.status()[0].documents == 2

    @pytest.mark.parametrize(
        ("arguments", "code", "words"),
        [
            ({}, "VALIDATION_ERROR", "content_type is missing; source_path is missing; content is missing"),
            ({"content_type": "binary"}, "VALIDATION_ERROR", "content_type cannot be 'binary'"),
            ({"content": ""}, "VALIDATION_ERROR", "content cannot be ''"),
            ({"content": " \n"}, "INVALID_INPUT", "nothing but white space"),
            ({"source_path": "a.png"}, "INVALID_INPUT", "a picture"),
            ({"source_path": " "}, "INVALID_INPUT", "source_path must not be empty"),
            ({"content": "\0\1\2" * 50, "source_path": "a.c"}, "INVALID_INPUT", ""),
            ({"metadata": "x"}, "VALIDATION_ERROR", "metadata cannot be 'x'"),
            ({"collection": "../evil"}, "INVALID_CONFIG_CONTEXT", "'../evil'"),
        ],
    )
    def test_what_cannot_be_indexed_is_told_and_nothing_is_written(
        self, empty: Library, arguments: dict[str, Any], code: str, words: str
    ) -> None:
        usual = {"content_type": "source_file", "source_path": "a.c", "content": "int a;\n"}
        error = answer(empty, "index_content", **(usual | arguments if arguments else {}))["error"]
        assert (error["code"], error["retryable"]) == (code, False)
        assert words in error["message"]
        assert empty.collections() == []


def test_what_says_the_same_takes_one_place_with_a_count_and_a_list(tmp_path: Path) -> None:
    with Library.open(tmp_path / "home", embedding__provider="deterministic") as library:
        for number in range(8):
            answer(
                library, "index_content", content_type="source_file", source_path=f"copy{number}/slab.c", content=SLAB
            )
        answer(library, "index_content", content_type="source_file", source_path="other.c", content="int zalloc;\n")
        first, *others = found(library, query="kmem_cache_zalloc")
        assert (first["duplicate_count"], len(first["duplicates"])) == (7, 5)
        paths = {first["source_path"], *(one["source_path"] for one in first["duplicates"])}
        assert len(paths) == 6
        assert all(path.startswith("copy") for path in paths)
        assert not any("duplicate_count" in one for one in others)
        results = library.search("kmem_cache_zalloc")
        line = line_of(1, results.hits[0], results)
        assert line.endswith(f"- the same in {', '.join(one.place for one in results.hits[0].duplicates[:3])}, 4 more")
