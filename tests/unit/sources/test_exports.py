"""Exports of Slack, Confluence and Notion become documents that say who, where and when."""

from __future__ import annotations

import html
import json
import resource
import time
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

import export_samples as samples
import pytest

from pinakes.core.errors import InvalidInput, SourceError, StorageFull, TooLarge, Unreadable
from pinakes.core.ports import Source
from pinakes.core.records import Scan
from pinakes.settings import SourceSettings
from pinakes.sources import exports, open_source
from pinakes.sources.locations import recognise

MAKERS: dict[str, Callable[[Path], Path]] = {
    "slack": samples.slack,
    "notion": samples.notion,
    "confluence": samples.confluence_html,
    "confluence backup": samples.confluence_backup,
}

_opened: list[Source] = []


def opened(kind: str, place: Path, max_file_bytes: int = 1_000_000, **more: object) -> Source:
    settings = SourceSettings.model_validate({"kind": kind, "location": str(place), **more})
    _opened.append(open_source(settings, work=place / "work", max_file_bytes=max_file_bytes, git_timeout_s=1))
    return _opened[-1]


@pytest.fixture(autouse=True)
def closing() -> Iterator[None]:
    yield
    while _opened:
        _opened.pop().close()


def texts(source: Source) -> dict[str, str]:
    with_text = {item.path: source.read(item).decode() for item in source.scan(None).items}
    source.close()
    return with_text


def paths(scan: Scan) -> list[str]:
    return [item.path for item in scan.items]


class TestRecognition:
    @pytest.mark.parametrize("name", MAKERS)
    def test_an_export_is_known_as_a_folder_and_as_an_archive(self, tmp_path: Path, name: str) -> None:
        folder = MAKERS[name](tmp_path / "export")
        kind = name.partition(" ")[0]
        for place in (
            folder,
            samples.zipped(folder, tmp_path / "a.zip"),
            samples.zipped(folder, tmp_path / "b.zip", top="My export/"),
        ):
            found = recognise(str(place))
            assert (found.kind, found.location) == (kind, str(place))

    def test_other_folders_and_archives_are_folders(self, tmp_path: Path) -> None:
        (tmp_path / "users.json").write_text("[]")
        (tmp_path / "index.html").write_text("<h1>A site</h1>")
        (tmp_path / f"Notes {'a' * 32}.md").write_text("x")
        for number in range(3):
            (tmp_path / f"{number}.md").write_text("x")
        assert recognise(str(tmp_path)).kind == "folder"
        assert recognise(str(samples.zipped(tmp_path, tmp_path.parent / "x.zip"))).kind == "folder"

    def test_what_it_is_can_be_said(self, tmp_path: Path) -> None:
        assert recognise(str(tmp_path), kind="slack").kind == "slack"
        assert recognise(str(samples.slack(tmp_path / "s")), kind="folder").kind == "folder"
        with pytest.raises(InvalidInput, match="no source of kind 'teams'"):
            recognise(str(tmp_path), kind="teams")
        with pytest.raises(InvalidInput, match="has no 'main'"):
            recognise(str(tmp_path), "main", "slack")


class TestAny:
    @pytest.mark.parametrize("name", MAKERS)
    def test_an_archive_gives_what_the_folder_gives(self, tmp_path: Path, name: str) -> None:
        kind = name.partition(" ")[0]
        folder = MAKERS[name](tmp_path / "export")
        archive = samples.zipped(folder, tmp_path / "export.zip", top="Some name/")
        assert texts(opened(kind, archive)) == texts(opened(kind, folder))

    @pytest.mark.parametrize("name", MAKERS)
    def test_what_did_not_change_has_the_same_fingerprint(self, tmp_path: Path, name: str) -> None:
        kind = name.partition(" ")[0]
        archive = samples.zipped(MAKERS[name](tmp_path / "export"), tmp_path / "export.zip")
        first, second = (opened(kind, archive).scan(None) for _ in range(2))
        assert first.items == second.items
        assert first.complete

    @pytest.mark.parametrize("kind", ["slack", "notion", "confluence"])
    def test_what_is_none_or_not_there_changes_nothing(self, tmp_path: Path, kind: str) -> None:
        (tmp_path / "a.md").write_text("x")
        (tmp_path / "b.zip").write_bytes(b"PK\x03\x04 no archive")
        for place, reason in (
            (tmp_path, "is no export"),
            (tmp_path / "b.zip", "cannot be read"),
            (tmp_path / "c", "exist"),
        ):
            with pytest.raises(SourceError, match=reason):
                opened(kind, place).scan(None)

    def test_patterns_say_what_is_read(self, tmp_path: Path) -> None:
        source = opened("slack", samples.slack(tmp_path / "s"), include=["/general/"], exclude=["*-04.md"])
        scan = source.scan(None)
        assert paths(scan) == ["general/2024-03-01.md"]
        assert scan.skipped[0].reason.startswith("Left out by exclude patterns")

    @pytest.mark.parametrize(
        ("pattern", "expected"),
        [
            ("Handbook/Plan [b].md", ["Handbook/Plan [b].md"]),
            ("Handbook/Plan {a,b}.md", ["Handbook/Plan {a,b}.md"]),
            ("Handbook/Plan ?.md", ["Handbook/Plan b.md"]),
        ],
    )
    def test_a_path_that_is_there_is_that_path_before_it_is_a_pattern(
        self, tmp_path: Path, pattern: str, expected: list[str]
    ) -> None:
        folder = samples.notion(tmp_path / "n")
        below = folder / f"Handbook {samples.NOTION_IDS['handbook']}"
        for number, name in enumerate(("[b]", "b", "{a,b}")):
            (below / f"Plan {name} {number:032x}.md").write_text(f"# Plan {name}\n\nWords.\n")
        assert paths(opened("notion", folder, include=[pattern]).scan(None)) == expected
        every = paths(opened("notion", folder).scan(None))
        left = paths(opened("notion", folder, exclude=[pattern]).scan(None))
        assert left == sorted({*every} - {*expected})

    def test_a_damaged_piece_is_one_failure(self, tmp_path: Path) -> None:
        archive = samples.zipped(samples.slack(tmp_path / "s"), tmp_path / "s.zip")
        source = opened("slack", samples.damaged(archive, "releases/2024-03-02.json"))
        items = {item.path: item for item in source.scan(None).items}
        with pytest.raises(Unreadable, match="damaged in the archive"):
            source.read(items["releases/2024-03-02.md"])
        assert b"Ada Vogel" in source.read(items["general/2024-03-01.md"])

    def test_a_file_that_is_larger_than_its_archive_says_is_not_read(self, tmp_path: Path) -> None:
        folder = samples.notion(tmp_path / "n")
        page = next(folder.glob("Handbook *.md"))
        page.write_text("# Handbook\n\n" + "x" * 5000)
        source = opened("notion", folder, max_file_bytes=1000)
        scan = source.scan(None)
        assert [(entry.path, entry.reason) for entry in scan.skipped] == [
            ("Handbook.md", "File too large (5012 bytes, max 1000)")
        ]
        data = samples.zipped(folder, tmp_path / "n.zip").read_bytes()
        lied = data.replace((5012).to_bytes(4, "little"), (12).to_bytes(4, "little"))
        (tmp_path / "n.zip").write_bytes(lied)
        source = opened("notion", tmp_path / "n.zip", max_file_bytes=1000)
        item = next(item for item in source.scan(None).items if item.path == "Handbook.md")
        with pytest.raises((TooLarge, Unreadable)):
            source.read(item)

    def test_names_that_lead_out_of_an_archive_are_not_read(self, tmp_path: Path) -> None:
        archive = samples.zipped(samples.slack(tmp_path / "s"), tmp_path / "s.zip")
        with zipfile.ZipFile(archive, "a") as packed:
            for name in ("../../general/2024-03-09.json", "/general/2024-03-09.json", "general/../../2024-03-09.json"):
                packed.writestr(name, "[]")
        assert not [path for path in paths(opened("slack", archive).scan(None)) if "09" in path]

    def test_an_item_is_read_by_who_listed_it(self, tmp_path: Path) -> None:
        folder = samples.slack(tmp_path / "s")
        item = opened("slack", folder).scan(None).items[0]
        with pytest.raises(Unreadable, match="not listed"):
            opened("slack", folder).read(item)


class TestSlack:
    @pytest.fixture
    def days(self, tmp_path: Path) -> dict[str, str]:
        return texts(opened("slack", samples.slack(tmp_path / "s")))

    def test_each_channel_and_day_is_a_document(self, days: dict[str, str]) -> None:
        assert sorted(days) == [
            "Ada Vogel, Ben Okoro/2024-03-03.md",
            "general/2024-03-01.md",
            "general/2024-03-04.md",
            "releases/2024-03-02.md",
        ]

    def test_a_day_says_where_when_and_who(self, days: dict[str, str]) -> None:
        head = days["general/2024-03-01.md"].split("---")[1]
        assert "title: '#general, 2024-03-01'" in head
        assert "channel: general" in head
        assert "date_published: '2024-03-01'" in head
        assert "participants:\n- Ada Vogel\n- Ben Okoro\n- gone\n" in head
        assert "topic: All of us & more" in head
        assert "topic: What we ship" in days["releases/2024-03-02.md"]

    def test_ids_become_names_and_links_stay(self, days: dict[str, str]) -> None:
        text = days["general/2024-03-01.md"]
        assert "Hello @Ben Okoro and @guest, see #releases @here" in text
        assert "**Ship it** with ~~old~~ `a * b * c` at [the tracker](https://example.org/a?b=1&c=2) if x < 3" in text
        assert "joined" not in text

    def test_messages_of_programs_are_read_whatever_they_are_made_of(self, tmp_path: Path) -> None:
        folder = samples.slack(tmp_path / "s")
        rich = [
            {"type": "text", "text": "See "},
            {"type": "link", "url": "https://example.org/7", "text": "build 7"},
            {"type": "text", "text": " by "},
            {"type": "user", "user_id": "U1"},
            {"type": "emoji", "name": "tada"},
        ]
        blocks = [
            {"type": "header", "text": {"type": "plain_text", "text": "Build failed"}},
            {"type": "section", "fields": [{"type": "mrkdwn", "text": "*Branch* main"}]},
            {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": rich}]},
            {"type": "context", "elements": [{"type": "image"}, {"type": "mrkdwn", "text": "took 3 min"}]},
        ]
        attached = {
            "pretext": "Before it",
            "title": "T",
            "fields": [{"title": "Owner", "value": "Ada"}],
            "blocks": blocks[:1],
        }
        told = {"type": "message", "bot_id": "B2", "bot_profile": {"name": "Jenkins"}, "ts": "1709553600.0", "text": ""}
        days = [{**told, "blocks": blocks}, {**told, "ts": "1709553660.0", "attachments": [attached]}]
        (folder / "general" / "2024-03-04.json").write_text(json.dumps(days))
        text = texts(opened("slack", folder))["general/2024-03-04.md"]
        lines = "Build failed\n**Branch** main\nSee [build 7](https://example.org/7) by @Ada Vogel:tada:\ntook 3 min"
        assert f"**Jenkins** 12:00\n{lines}\n" in text
        assert "> Before it\n> T\n> Build failed\n> Owner: Ada" in text

    def test_what_stands_only_in_blocks_follows_the_text_and_nothing_comes_twice(self, tmp_path: Path) -> None:
        folder = samples.slack(tmp_path / "s")
        rich = [
            {"type": "text", "text": "Ask "},
            {"type": "user", "user_id": "U1"},
            {"type": "text", "text": " & read "},
            {"type": "link", "url": "https://example.org/7"},
        ]
        listed = [{"type": "rich_text_section", "elements": [{"type": "text", "text": one}]} for one in ("One", "Two")]
        same = {
            "text": "*Ask* <@U1> &amp; read <https://example.org/7|example.org>\n1. One\n2. Two",
            "blocks": [
                {
                    "type": "rich_text",
                    "elements": [
                        {"type": "rich_text_section", "elements": rich},
                        {"type": "rich_text_list", "elements": listed},
                    ],
                }
            ],
        }
        section = {"type": "section", "text": {"type": "mrkdwn", "text": "Deploy finished: *main*\nby Jenkins"}}
        image = {"type": "image", "alt_text": "Graph of errors", "title": {"type": "plain_text", "text": "Errors"}}
        longer = {"text": "Deploy finished", "blocks": [{**section, "accessory": image}]}
        video = {
            "type": "video",
            "title": {"type": "plain_text", "text": "Tour"},
            "description": {"type": "plain_text", "text": "All rooms"},
            "alt_text": "Tour",
        }
        cell = {"type": "rich_text", "elements": [{"type": "rich_text_section", "elements": rich[1:2]}]}
        rows = [[{"type": "raw_text", "text": "Who|what"}, {"type": "raw_text", "text": "N"}], [cell, None]]
        other = {"text": "See below", "blocks": [video, {"type": "table", "rows": rows}]}
        attached = {"attachments": [{"text": "Brief", "blocks": [image]}]}
        days = [
            {"user": "U1", "ts": f"170955360{number}.0", **one}
            for number, one in enumerate((same, longer, other, attached))
        ]
        (folder / "general" / "2024-03-04.json").write_text(json.dumps(days))
        text = texts(opened("slack", folder))["general/2024-03-04.md"]
        said = [message.partition("\n")[2].strip() for message in text.split("**Ada Vogel** 12:00")[1:]]
        assert said == [
            "**Ask** @Ada Vogel & read [example.org](https://example.org/7)\n1. One\n2. Two",
            "Deploy finished: **main**\nby Jenkins\nErrors\nGraph of errors",
            "See below\nTour\nAll rooms\n\n| Who\\|what | N |\n| --- | --- |\n| @Ada Vogel |  |",
            "> Brief\n> Errors\n> Graph of errors",
        ]

    def test_a_message_longer_than_slack_lets_one_be_is_read_at_once(self, tmp_path: Path) -> None:
        folder = samples.slack(tmp_path / "s")
        said, more = (" ".join(f"{word}{number}" for number in range(60_000)) for word in "ab")
        blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": more.replace(" ", "\n")}}]
        day = [{"user": "U1", "ts": "1709553600.0", "text": said, "blocks": blocks}]
        (folder / "general" / "2024-03-04.json").write_text(json.dumps(day))
        source, start = opened("slack", folder), time.process_time()
        text = texts(source)["general/2024-03-04.md"]
        assert said in text
        assert "\nb0\nb1\n" in text
        assert time.process_time() - start < 10

    def test_answers_stand_under_what_they_answer(self, days: dict[str, str]) -> None:
        text = days["general/2024-03-01.md"]
        assert (
            text.index("**Ada Vogel** 09:00")
            < text.index("> **Ben Okoro** 09:01")
            < text.index("**gone** 11:00 (edited)")
        )
        assert "In answer to Ada Vogel, 2024-03-01: Hello @Ben Okoro" in days["general/2024-03-04.md"]

    def test_code_attachments_and_files_are_kept(self, days: dict[str, str]) -> None:
        assert "\n```\nmake release\n```" in days["general/2024-03-01.md"]
        late = days["general/2024-03-04.md"]
        assert "**Builder**" in late
        assert "> [Build 7](https://ci.example.org/7)\n> It passed" in late
        assert "File: [Plan.pdf](https://files.example.org/F1)" in late

    def test_another_name_makes_the_documents_be_read_again(self, tmp_path: Path) -> None:
        folder = samples.slack(tmp_path / "s")
        before = opened("slack", folder).scan(None)
        people = json.loads((folder / "users.json").read_text())
        people[0]["profile"]["real_name"] = "Ada Vogel-Stern"
        (folder / "users.json").write_text(json.dumps(people))
        after = opened("slack", folder).scan(before.state)
        assert {item.fingerprint for item in before.items}.isdisjoint(item.fingerprint for item in after.items)

    @pytest.mark.parametrize("content", ["[{", '{"a": 1}', "", "\x00"])
    def test_a_damaged_day_is_one_failure(self, tmp_path: Path, content: str) -> None:
        folder = samples.slack(tmp_path / "s")
        (folder / "releases/2024-03-02.json").write_text(content)
        source = opened("slack", folder)
        item = next(item for item in source.scan(None).items if item.path.startswith("releases"))
        with pytest.raises(Unreadable, match=r"no JSON|no list"):
            source.read(item)

    def test_a_damaged_list_of_people_leaves_their_ids(self, tmp_path: Path) -> None:
        folder = samples.slack(tmp_path / "s")
        (folder / "users.json").write_text("[{")
        source = opened("slack", folder)
        scan = source.scan(None)
        assert [entry.path for entry in scan.skipped] == ["users.json"]
        assert b"**U1**" in source.read(next(item for item in scan.items if item.path == "general/2024-03-01.md"))

    def test_odd_messages_do_no_harm(self, tmp_path: Path) -> None:
        folder = samples.slack(tmp_path / "s")
        odd = [
            None,
            7,
            {},
            {"text": None},
            {"text": "no time", "ts": None},
            {"ts": "x", "text": "<@", "files": [1, {}]},
        ]
        (folder / "releases/2024-03-02.json").write_text(json.dumps(odd))
        assert "no time" in texts(opened("slack", folder))["releases/2024-03-02.md"]


class TestNotion:
    @pytest.fixture
    def pages(self, tmp_path: Path) -> dict[str, str]:
        return texts(opened("notion", samples.notion(tmp_path / "n")))

    def test_pages_are_called_by_their_titles(self, pages: dict[str, str]) -> None:
        assert sorted(pages) == [
            "Handbook.md",
            f"Handbook/Leave policy {samples.NOTION_IDS['twin'][:8]}.md",
            "Handbook/Leave policy.md",
            "Handbook/Tasks.csv",
            "Handbook/Tasks/Paint the fence.md",
        ]

    def test_links_lead_to_pages_as_they_are_called_here(self, pages: dict[str, str]) -> None:
        assert "[Leave](Handbook/Leave%20policy.md)" in pages["Handbook.md"]
        assert "[out](https://example.org/x)" in pages["Handbook.md"]
        assert "[top](Handbook.md#how)" in pages["Handbook/Leave policy.md"]

    def test_the_whole_of_a_database_is_read(self, pages: dict[str, str]) -> None:
        assert "Sand,Open" in pages["Handbook/Tasks.csv"]

    def test_properties_of_a_row_become_metadata_and_stay_in_the_text(self, pages: dict[str, str]) -> None:
        _, head, text = pages["Handbook/Tasks/Paint the fence.md"].split("---")
        assert "status: Done" in head
        assert "due_date: March 1, 2024" in head
        assert "Status: Done" in text
        assert text.rstrip().endswith("Two coats of green.")

    def test_a_paragraph_like_a_property_stays_a_paragraph(self, tmp_path: Path) -> None:
        (tmp_path / f"A {'b' * 32}.md").write_text("# A\n\nNote: this is prose\nthat goes on.\n")
        assert "note:" not in texts(opened("notion", tmp_path))["A.md"]

    def test_a_page_says_where_it_is(self, tmp_path: Path) -> None:
        scan = opened("notion", samples.notion(tmp_path / "n")).scan(None)
        row = next(item for item in scan.items if "fence" in item.path)
        number = samples.NOTION_IDS["row"]
        assert row.metadata == {
            "parents": ["Handbook", "Tasks"],
            "notion_id": number,
            "url": f"https://www.notion.so/{number}",
        }

    def test_links_to_a_database_lead_to_all_of_it(self, tmp_path: Path) -> None:
        folder = samples.notion(tmp_path / "n")
        tasks = next(path for path in folder.rglob("*.csv") if not path.stem.endswith("_all"))
        (folder / f"Links {'d' * 32}.md").write_text(f"# L\n\n[DB]({quote(str(tasks.relative_to(folder)))})\n")
        assert "[DB](Handbook/Tasks.csv)" in texts(opened("notion", folder))["Links.md"]

    def test_an_export_in_parts_is_read_as_one(self, tmp_path: Path) -> None:
        folder = samples.notion(tmp_path / "n")
        other = tmp_path / "other"
        other.mkdir()
        (other / f"Second part {'c' * 32}.md").write_text("# Second part\n\nThe rest.\n")
        parts = samples.zipped(folder, tmp_path / "1.zip"), samples.zipped(other, tmp_path / "2.zip")
        whole = samples.in_parts(*parts, archive=tmp_path / "whole.zip")
        assert recognise(str(whole)).kind == "notion"
        found = texts(opened("notion", whole))
        assert {"Second part.md", "Handbook.md", "Handbook/Tasks.csv"} <= set(found)

    def test_links_that_are_made_to_be_slow_are_read_at_once(self, tmp_path: Path) -> None:
        (tmp_path / f"A {'b' * 32}.md").write_text("# A\n\n" + "[" * 90_000)
        start = time.process_time()
        assert "[[[" in texts(opened("notion", tmp_path))["A.md"]
        assert time.process_time() - start < 2

    def test_parts_that_do_not_unpack_are_an_error_of_the_source(self, tmp_path: Path) -> None:
        part = samples.zipped(samples.notion(tmp_path / "n"), tmp_path / "1.zip")
        whole = samples.in_parts(part, archive=tmp_path / "whole.zip", kind=zipfile.ZIP_DEFLATED)
        with pytest.raises(SourceError, match="cannot be read"):
            opened("notion", samples.damaged(whole, "Export-Part-1.zip")).scan(None)

    def test_parts_that_unpack_to_too_much_together_are_refused(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(exports, "_MOST_NESTED_BYTES", 10_000)
        parts = []
        for number in range(3):
            part = tmp_path / f"{number}.zip"
            part.write_bytes(bytes(4000))  # what stands before an archive is passed over
            with zipfile.ZipFile(part, "a") as archive:
                archive.writestr(f"Page {number} {'a' * 32}.md", "# Page\n")
            parts.append(part)
        two, three = (samples.in_parts(*parts[:n], archive=tmp_path / f"whole-{n}.zip") for n in (2, 3))
        assert len(texts(opened("notion", two))) == 2
        with pytest.raises(SourceError, match="unpack to more than 10,000 bytes"):
            opened("notion", three).scan(None)


@contextmanager
def full_disk() -> Iterator[None]:
    """Let nobody write anything for a while, as where the disk is full."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


class TestFullDisk:
    """What is spooled while an export is read may find no room, which says nothing about the export."""

    def test_the_texts_of_a_backup(self, tmp_path: Path) -> None:
        place = samples.confluence_backup(tmp_path / "c")
        source = opened("confluence", place)
        with full_disk(), pytest.raises(StorageFull, match="texts of the backup"):
            source.scan(None)
        assert "pelican" in texts(opened("confluence", place))["DESK/Welcome.html"]

    def test_the_archives_in_an_archive(self, tmp_path: Path) -> None:
        part = samples.zipped(samples.notion(tmp_path / "n"), tmp_path / "part-1.zip")
        with zipfile.ZipFile(tmp_path / "whole.zip", "w") as whole:
            whole.write(part, part.name)
        source = opened("notion", tmp_path / "whole.zip")
        with full_disk(), pytest.raises(StorageFull, match=r"'part-1\.zip' among the temporary files"):
            source.scan(None)


class TestConfluence:
    def test_the_pages_of_a_space_are_read_with_what_is_attached(self, tmp_path: Path) -> None:
        pages = texts(opened("confluence", samples.confluence_html(tmp_path / "c")))
        assert sorted(pages) == ["Birds_100.html", "Herons_101.html", "attachments/101/202.txt"]
        page = pages["Herons_101.html"]
        assert "<title>Herons &amp; egrets</title>" in page
        for name, value in (
            ("author", "Ada Vogel"),
            ("pinakes:editor", "Ben Okoro"),
            ("pinakes:modified", "2024-03-02"),
            ("pinakes:space", "Field Guide"),
            ("pinakes:parents", "Birds"),
        ):
            assert f'<meta name="{name}" content="{value}">' in page
        assert "shallow water" in page
        assert "I saw one at the mill." in page
        assert "generated by Confluence" not in page

    def test_the_pages_of_a_backup_are_read(self, tmp_path: Path) -> None:
        source = opened("confluence", samples.confluence_backup(tmp_path / "c"))
        scan = source.scan(None)
        assert paths(scan) == ["DESK/Welcome.html", "DESK/Welcome/Get a badge - pass.html", "DESK/blog/We moved.html"]
        badge = scan.items[1]
        assert badge.metadata == {
            "page_id": "12",
            "space": "Help Desk",
            "parents": ["Welcome"],
            "author": "ada",
            "modified": "2024-03-02T10:11:12",
        }
        page = source.read(badge).decode()
        assert "Ask @ada or read Welcome." in page
        assert '<pre><code class="language-python">if a &lt; b:\n    run()</code></pre>' in page
        assert "[x] Fill in the form" in page
        assert "<blockquote><p>Too long!</p></blockquote>" in page
        assert "OLD" not in page
        assert "ac:" not in page

    @pytest.mark.parametrize(
        "extra", ["<object class='Page'>", "<!DOCTYPE x [<!ENTITY a 'b'>]>", "&nbsp;", "</hibernate-generic>"]
    )
    def test_a_damaged_backup_changes_nothing(self, tmp_path: Path, extra: str) -> None:
        with pytest.raises(SourceError, match="damaged"):
            opened("confluence", samples.confluence_backup(tmp_path / "c", extra)).scan(None)

    def test_a_backup_that_does_not_unpack_changes_nothing(self, tmp_path: Path) -> None:
        archive = samples.zipped(samples.confluence_backup(tmp_path / "c"), tmp_path / "c.zip")
        with pytest.raises(SourceError, match="of the backup is damaged"):
            opened("confluence", samples.damaged(archive, "entities.xml")).scan(None)

    @pytest.mark.parametrize(
        "part",
        [
            "<ac:link>",
            "<ac:link ",
            '<ac:structured-macro ac:name="code">',
            "<ac:parameter x>",
            "<![CDATA[",
            "<ac:task-id>",
            "<ri:user ",
            "<ac:x ",
        ],
    )
    def test_a_page_that_is_made_to_be_slow_is_read_at_once(self, tmp_path: Path, part: str) -> None:
        body = html.escape(part * 50_000)
        extra = (
            f'<object class="BodyContent" package="x"><id name="id">91</id><property name="body">{body}</property>'
            '<property name="content" class="Page"><id name="id">12</id></property></object>'
        )
        source = opened("confluence", samples.confluence_backup(tmp_path / "c", extra), max_file_bytes=5_000_000)
        [badge] = [item for item in source.scan(None).items if "badge" in item.path]
        start = time.process_time()
        assert b"Ask @ada" in source.read(badge)
        assert time.process_time() - start < 2

    def test_a_page_that_is_above_itself_is_read(self, tmp_path: Path) -> None:
        ring = (
            '<object class="Page" package="x"><id name="id">77</id><property name="title"><![CDATA[Ring]]></property>'
            '<property name="parent" class="Page"><id name="id">77</id></property></object>'
        )
        scan = opened("confluence", samples.confluence_backup(tmp_path / "c", ring)).scan(None)
        assert any(path.endswith("Ring.html") for path in paths(scan))

    def test_control_characters_in_a_backup_are_left_out(self, tmp_path: Path) -> None:
        folder = samples.confluence_backup(tmp_path / "c")
        data = (folder / "entities.xml").read_text().replace("pelican", "peli\x08can")
        (folder / "entities.xml").write_text(data)
        assert "pelican" in texts(opened("confluence", folder))["DESK/Welcome.html"]
