"""``pinakes document``: single documents, and texts as they were."""

from __future__ import annotations

import io
from pathlib import Path
from typing import Any

import pytest


@pytest.fixture
def note(tmp_path: Path) -> Path:
    path = tmp_path / "note.md"
    path.write_text("# Keys\n\nRotate the signing keys on Monday.\n")
    return path


def put(pinakes: Any, note: Path, *words: str) -> str:
    return str(pinakes("document", "put", note, "--title", "Keys", "--json", *words).document["document"]["uid"])


def test_a_document_is_put_changed_deleted_and_restored(pinakes: Any, note: Path) -> None:
    uid = put(pinakes, note, "--tag", "ops", "--field", "year=2026", "--source", "meeting")
    shown = pinakes("document", "show", "Keys", "--json").document
    assert (shown["tags"], shown["metadata"], shown["source"]) == (["ops"], {"year": 2026}, "meeting")
    assert shown["chunks"][0]["text"].startswith("# Keys")
    changed = pinakes("document", "update", uid, "--tag", "", "--field", "year=", "--summary", "On credentials.")
    assert (changed.code, "updated: Keys (version 2" in changed.out) == (0, True)
    assert pinakes("search", "credentials", "--json").document["hits"][0]["document_id"] == uid
    gone = pinakes("document", "delete", "Keys")
    assert (gone.code, gone.out) == (0, f"{uid}  deleted: Keys\n")
    assert f"pinakes document restore {uid} -c default" in gone.err
    assert pinakes("document", "show", "Keys").code == 3
    assert [one["uid"] for one in pinakes("document", "deleted", "--json").document["documents"]] == [uid]
    assert "restored: Keys (version 4" in pinakes("document", "restore", uid).out
    history = pinakes("document", "history", "Keys", "--json").document["versions"]
    assert [one["op"] for one in history] == ["restored", "deleted", "updated", "created"]
    assert {one["by"] for one in history} == {"local (cli)"}


def test_texts_are_read_as_they_were(pinakes: Any, note: Path) -> None:
    uid = put(pinakes, note)
    old = note.read_text()
    then = pinakes("document", "show", uid, "--json").document["updated_at"]
    note.write_text("# Keys\n\nNever on Monday.\n")
    assert pinakes("document", "update", uid, "--text", note).code == 0
    for words in (("document", "history", uid, "--version", "1"), ("read", uid, "--version", "1")):
        assert pinakes(*words).out == old
    assert pinakes("read", uid, "--as-of", then).out == old
    assert "Never" in pinakes("read", uid).out
    asked = pinakes("search", "rotate", "--as-of", then, "--json").document
    assert "Rotate the signing keys" in asked["hits"][0]["text"]
    assert pinakes("search", "x", "--as-of", "yesterday").code == 2


def test_another_version_than_the_named_one_is_a_conflict(pinakes: Any, note: Path) -> None:
    uid = put(pinakes, note)
    assert pinakes("document", "update", uid, "--tag", "a", "--if-version", "1").code == 0
    refused = pinakes("document", "update", uid, "--tag", "b", "--if-version", "1", "--json")
    assert (refused.code, refused.document["error"]["code"]) == (13, "CONFLICT")
    assert pinakes("document", "delete", uid, "--if-version", "1").code == 13
    assert pinakes("document", "put", note, "--title", "Keys", "--if-version", "0").code == 13


def test_a_text_may_come_from_stdin(pinakes: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO("Herons eat fish."))
    assert "created: Herons" in pinakes("document", "put", "-", "--title", "Herons").out
    assert pinakes("read", "Herons").out == "Herons eat fish.\n"


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("put", "nowhere.md", "--title", "x"), 3),
        (("put", "{note}", "--title", " "), 2),
        (("put", "{note}", "--title", "x", "--field", "y"), 2),
        (("history", "nothing"), 3),
        (("restore", "nothing"), 3),
    ],
)
def test_what_cannot_be_done_is_said(words: tuple[str, ...], code: int, pinakes: Any, note: Path) -> None:
    put(pinakes, note)
    assert pinakes("document", *(word.format(note=note) for word in words)).code == code


def test_a_deleted_document_is_named_by_its_uri_or_path(pinakes: Any, note: Path) -> None:
    uid = put(pinakes, note, "--uri", "memo:ops/keys.md")
    assert pinakes("document", "delete", uid).code == 0
    assert "document deleted" in pinakes("document", "history", "nothing.md").err
    for reference in ("memo:ops/keys.md", "keys.md"):
        assert pinakes("document", "history", reference, "--json").document["uid"] == uid
    assert "restored: Keys" in pinakes("document", "restore", "keys.md").out
    first = pinakes("document", "delete", uid)
    other = put(pinakes, note, "--uri", "memo:home/keys.md")
    assert (first.code, pinakes("document", "delete", other).code) == (0, 0)
    unclear = pinakes("document", "restore", "keys.md")
    assert (unclear.code, uid in unclear.err, other in unclear.err) == (2, True, True)
