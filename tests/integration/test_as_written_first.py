"""What is asked for comes first as it is written: identifiers before their parts, words before their other forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinakes import Library
from pinakes.core.records import SearchMode

WHOLE = {
    "INV-2024-0113": "INV 2024 0113, INV-2024-0114, INV-2024-0112, 0113 0113 of 2024, INV.",
    "00:1A:2B:3C:4D:5E": "5E 4D, 3C 2B 1A 00, 00:1A:2B:3C:4D:5F, 1A 2B 3C, 5E 5E 4D.",
    "2024-03-17T08:15:00Z": "2024-03-17T09:15:00Z, 08 15 00, 2024-03-17T08:16:00Z, 17 03 2024.",
    "fe80::1ff:fe23:4567:890a": "890a 4567 fe23, 1ff fe80, fe80::1ff:fe23:4567:890b, 4567.",
    "27001:2022": "2022 27001, 27001:2013, 27002:2022, 27001 and 2022, 27001 of it.",
    "AB-12/34": "AB 12 34, AB-12, AB-34, 34/12, AB-12/35, 12 AB.",
    "max_retry_count": "The max retry count, retry count max. Count each retry, max retry, max count.",
    "maxRetryCount": "Max retry count. Retry count max: max retry count retry.",
    "retry-backoff-limit": "Retry, backoff, limit. Backoff limit: limit retry backoff, retry backoff.",
    "--dry-run": "A dry run of the river. Run dry, dry and run, a run dry.",
    "std::vector": "Vector vector std, std::map, vector of std, std::list.",
}

FORMS = {
    "policies": ("All policies are listed in the handbook.", "The policy of the house: each policy, policy by policy."),
    "indexes": ("Both indexes were dropped.", "The index of a table. An index per column, index first, index."),
    "running": ("A running pump is loud.", "Run the pump. A run of the pump, run by run."),
    "logging": ("Logging is on.", "Write a log. The log is a log, log on."),
    "mice": ("Two mice ran.", "The mouse ran. A mouse, a mouse."),
    "résumé": ("Send a résumé by post.", "Resume the job. To resume, resume the work; resume later."),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    home = tmp_path_factory.mktemp("home")
    for at, (name, parts) in enumerate(WHOLE.items()):
        _write(home / str(at) / "whole.md", f"# Notes\n\nThe heron saw {name} by the old mill near the river.\n")
        _write(home / str(at) / "parts.md", f"# Notes\n\n{parts}\n")
        _write(home / str(at) / "more.md", f"# {parts}\n\n{parts}\n{parts}\n")
    for word, texts in FORMS.items():
        for name, text in zip(("typed", "other"), texts, strict=True):
            _write(home / word / f"{name}.md", f"# Notes\n\n{text}\n")
    library = Library.open(home / "library", embedding__provider="deterministic", embedding__mode="full")
    for at in range(len(WHOLE)):
        library.add(str(home / str(at)), f"c{at}")
    for word in FORMS:
        library.add(str(home / word), word)
    return library


def _write(path: Path, text: str) -> None:
    path.parent.mkdir(exist_ok=True)
    path.write_text(text)


@pytest.mark.parametrize("query", ["{}", "what about {}?", "({})"])
@pytest.mark.parametrize("at", range(len(WHOLE)), ids=list(WHOLE))
def test_the_whole_comes_before_its_parts(library: Library, query: str, at: int) -> None:
    found = library.search(query.format(list(WHOLE)[at]), f"c{at}")
    assert found.hits[0].path == "whole.md"
    assert "identifier" in found.hits[0].score_parts


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize("word", FORMS)
def test_the_form_that_was_typed_comes_before_others(library: Library, word: str, mode: SearchMode) -> None:
    found = [hit.path for hit in library.search(word, word, mode=mode).hits]
    assert found == ["typed.md", "other.md"]


def test_a_name_of_code_among_other_words_is_no_more_than_these(library: Library) -> None:
    [*_, last] = library.search("where is max_retry_count of the river set", "c6").hits
    assert "identifier" not in last.score_parts


def test_a_name_of_code_does_not_count_for_an_identifier_with_a_number(tmp_path: Path) -> None:
    said = {"both": "RFC-0011 and max_retry_count", "name": "max_retry_count", "rfc": "RFC-0011", "none": "A retry"}
    for name, text in said.items():
        _write(tmp_path / "docs" / f"{name}.md", f"# Notes\n\nThe client: {text} by the old mill near the river.\n")
    library = Library.open(tmp_path / "library", embedding__provider="deterministic", embedding__mode="full")
    library.add(str(tmp_path / "docs"), "notes")
    alone, both = (
        {hit.path: hit.score_parts.get("identifier") for hit in library.search(query, "notes").hits}
        for query in ("RFC-0011 handling client", "RFC-0011 and max_retry_count handling client")
    )
    for parts in (alone, both):
        assert parts["rfc.md"]
        assert parts["both.md"] == parts["rfc.md"]
        assert parts["name.md"] is parts["none.md"] is None
