"""Documents before their chunks, on the command line."""

from __future__ import annotations

import re

import pytest
from chat_server import serving

SAID = "How an orchard is kept over the year."


@pytest.fixture
def orchard(pinakes, corpus):
    assert pinakes("add", corpus).code == 0
    return pinakes


def test_documents_show_rank_score_place_title_and_summary(orchard):
    done = orchard("search", "when to prune pear trees", "--summaries", "-k", "1")
    assert done.code == 0
    first, second, *summary = done.out.splitlines()
    assert re.fullmatch(r" 1  \d\.\d{3}  guide\.md  \[\d+ tokens\]", first)
    assert second == "    Orchard guide"
    assert "Prune pear trees in winter, never in the rain." in " ".join(line.strip() for line in summary)


def test_the_json_has_the_summary_and_who_wrote_it(orchard):
    answer = orchard("search", "pear", "--summaries", "--json", "-k", "2").document
    assert len(answer["documents"]) == 2
    first = answer["documents"][0]
    assert (first["path"], first["summary_by"]) == ("guide.md", "extractive")
    assert 0 < first["score"] <= 1
    assert first["best_chunk"] == 0


def test_what_is_about_chunks_alone_is_refused(orchard):
    for option in (("--fusion", "rrf"), ("--neighbours", "1"), ("-k", "500")):
        done = orchard("search", "pear", "--summaries", *option)
        assert done.code == 2
        assert done.err


def test_the_outline_has_headings_with_their_lines(orchard):
    done = orchard("outline", "guide.md")
    assert done.code == 0
    assert re.search(r"^ *\d+-\d+  Orchard guide$", done.out, re.MULTILINE)
    found = orchard("outline", "guide.md", "--json").document
    assert found["document"]["path"] == "guide.md"
    assert found["headings"][0]["title"] == "Orchard guide"
    assert orchard("outline", "nothing.md").code == 3


def test_a_section_is_printed_alone(orchard):
    titles = [one["title"] for one in orchard("outline", "guide.md", "--json").document["headings"]]
    done = orchard("read", "guide.md", "--section", titles[-1])
    assert done.code == 0
    assert done.out.startswith(f"## {titles[-1]}\n")
    missing = orchard("read", "guide.md", "--section", "Costs of the fence")
    assert missing.code == 3
    assert "Orchard guide" in missing.err
    assert orchard("read", "guide.md", "--section", "x", "--lines", "1-2").code == 2


def test_without_a_model_there_is_nothing_to_summarize_with(orchard):
    done = orchard("summarize")
    assert done.code == 7
    assert "chat.url" in done.err


def test_a_model_writes_the_summaries(orchard):
    with serving(lambda _: SAID) as server:
        model = ("--set", f"chat.url={server.url}", "--set", "chat.model=tiny")
        done = orchard("summarize", *model)
        assert done.code == 0
        assert re.search(r"default: \d+ summaries written", done.err + done.out)
        asked = len(server.seen)
        assert orchard("summarize", *model, "--json").document == {
            "collections": [{"name": "default", "written": 0, "failed": 0}]
        }
        assert len(server.seen) == asked
    shown = orchard("search", "pear", "--summaries", "-k", "1")
    assert SAID in shown.out


def test_summaries_that_could_not_be_written_are_counted(orchard):
    with serving(lambda _: (500, b"broken")) as server:
        done = orchard("summarize", "--json", "--set", f"chat.url={server.url}", "--set", "chat.model=tiny")
    assert done.code == 7
    [counts] = done.document["collections"]
    assert counts["written"] == 0
    assert counts["failed"] == len(counts["failures"]) > 0
    assert "guide.md" in counts["failures"]


def test_a_summary_that_is_not_written_again_has_failed_though_there_is_an_older_one(orchard):
    with serving(lambda _: SAID) as server:
        model = ("--set", f"chat.url={server.url}", "--set", "chat.model=tiny")
        orchard("summarize", *model)
    done = orchard("summarize", "--again", *model)
    assert done.code == 7
    assert re.search(r"default: 0 summaries written, \d+ failed", done.err + done.out)
    assert "no summary was written for guide.md: The chat model at http" in done.err
    assert "is made of sentences" not in done.err
    shown = orchard("search", "pear", "--summaries", "-k", "1")
    assert SAID in shown.out
