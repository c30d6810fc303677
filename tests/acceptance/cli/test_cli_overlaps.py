"""Adding files of known sources, and other patterns: what is said, what is asked, what the exit code is."""

from __future__ import annotations

import io
import sys

import pytest


class Terminal(io.StringIO):
    """An input at which somebody sits."""

    def isatty(self) -> bool:
        return True


def answering(monkeypatch: pytest.MonkeyPatch, answer: str) -> None:
    monkeypatch.setattr(sys, "stdin", Terminal(f"{answer}\n"))


def listed(pinakes) -> list[str]:
    return [one["location"] for one in pinakes("sources", "--json").document["sources"]]


def test_a_folder_of_a_source_is_read_as_part_of_it(pinakes, corpus):
    pinakes("add", corpus)
    (corpus / "code" / "mill.py").write_text("def mill_apples():\n    return 3\n")
    done = pinakes("add", f"{corpus}/./code/", corpus / "code" / "press.py")
    assert done.code == 0
    assert f"default: {corpus}, only code\n" in done.out
    assert f"default: {corpus}, only code/press.py\n" in done.out
    assert "1 added" in done.out
    assert listed(pinakes) == [str(corpus)]
    assert "code/mill.py" in pinakes("search", "mill apples", "--path", "code/*").out
    report = pinakes("add", corpus / "code", "--json").document["reports"][0]
    assert (report["source"], report["paths"]) == (str(corpus), ["code"])


def test_what_is_left_out_or_refused_inside_a_source_is_an_error(pinakes, corpus):
    pinakes("add", corpus, "--exclude", "code/")
    done = pinakes("add", corpus / "code")
    assert done.code == 2
    assert "left out by its rules (exclude code/)" in done.err
    assert "--as-source" in done.err
    assert pinakes("add", corpus / "empty.md").code == 5


def test_a_second_source_is_refused_unless_it_is_said(pinakes, corpus):
    pinakes("add", corpus / "code")
    for extra in ((), ("--dry-run",)):
        done = pinakes("add", corpus, *extra)
        assert done.code == 2
        assert "holds the files of the source 'code' of collection 'default'" in done.err
        assert "pinakes sources remove code" in done.err
        assert "--as-source" in done.err
    assert listed(pinakes) == [str(corpus / "code")]
    done = pinakes("add", corpus, "--as-source")
    assert done.code == 0
    assert "  overlaps 'code': a file of both is read once, by the source that read it first" in done.out
    assert "1 × Read by the source 'code' (code/press.py)" in done.out
    assert "overlaps code" in pinakes("sources").out
    assert pinakes("sources", "list").out == pinakes("sources").out
    assert pinakes("collections", "list").out == pinakes("collections").out
    assert "overlaps" in pinakes("status").out
    assert "overlaps corpus" in pinakes("sources", "show", "code").out
    assert "overlaps 'corpus'" in pinakes("sync").out
    done = pinakes("sources", "remove", "code", "--yes")
    assert "0 documents removed" in done.out
    assert "1 document of files that another source has" in done.out
    assert pinakes("search", "press apples", "--path", "code/*").out.startswith(" 1")


def test_commands_in_hints_can_be_pasted_whatever_a_source_is_called(pinakes, corpus):
    (corpus / "apple juice").mkdir()
    (corpus / "apple juice" / "press.md").write_text("# Press\n\nApples are pressed.\n")
    pinakes("add", corpus / "apple juice")
    done = pinakes("add", corpus)
    assert "pinakes sources remove 'apple juice', then add it" in done.err


def test_patterns_are_shown_with_every_report(pinakes, corpus):
    first = pinakes("add", corpus, "--include", "*.md", "--exclude", "code/")
    assert "  include  *.md\n  exclude  code/\n" in first.out
    for words in (("add", corpus), ("sync",), ("sources", "show", "corpus"), ("add", corpus, "--dry-run")):
        said = pinakes(*words).out
        assert "*.md" in said, words
        assert "code/" in said, words
    document = pinakes("sources", "show", "corpus", "--json").document
    assert (document["include"], document["exclude"]) == (["*.md"], ["code/"])
    assert (
        "  include  none (was *.md)\n  exclude  nothing (was code/)"
        in pinakes("add", corpus, "--exclude", "nothing").out
    )


def test_patterns_that_remove_documents_need_a_yes(pinakes, corpus):
    pinakes("add", corpus)
    before = pinakes("status", "--json").document["collections"][0]["documents"]
    done = pinakes("add", corpus, "--exclude", "code/")
    assert done.code == 2
    assert "exclude was none, becomes code/. That removes 1 document: code/press.py." in done.err
    assert "--yes" in done.err
    document = pinakes("add", corpus, "--exclude", "code/", "--json").document
    assert document["error"]["code"] == "WOULD_REMOVE"
    assert pinakes("status", "--json").document["collections"][0]["documents"] == before
    assert pinakes("sources", "show", "corpus", "--json").document["exclude"] == []
    done = pinakes("add", corpus, "--exclude", "code/", "--yes")
    assert done.code == 0
    assert "That removes 1 document: code/press.py." in done.err, "it is said all the same"
    assert "1 removed" in done.out
    assert "  exclude  code/ (was none)\n" in done.out


@pytest.mark.parametrize(("answer", "code", "left"), [("n", 2, []), ("", 2, []), ("y", 0, ["code/"])])
def test_whoever_sits_at_a_terminal_is_asked(answer, code, left, pinakes, corpus, monkeypatch):
    pinakes("add", corpus)
    answering(monkeypatch, answer)
    done = pinakes("add", corpus, "--exclude", "code/")
    assert done.code == code
    assert "That removes 1 document: code/press.py." in done.err
    assert pinakes("sources", "show", "corpus", "--json").document["exclude"] == left
