"""Archives are written whole or not at all, and what is not as it was written is refused before it is used."""

from __future__ import annotations

import json
import stat
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from pinakes.core.errors import InvalidInput, NotFound, Unreadable
from pinakes.platform import archives
from pinakes.platform.archives import MANIFEST, Kind, opened, written

KIND = Kind("test", 2, "test archive", lambda name: name in ("a.txt", "b.bin"))
MEMBERS = {"a.txt": b"one\ntwo\n" * 1000, "b.bin": bytes(range(256)) * 40}


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    place = tmp_path / "test.zip"
    with written(place, KIND) as writer:
        for name, data in MEMBERS.items():
            with writer.member(name, packed=name == "a.txt") as member:
                member.write(data[:100])
                member.write(data[100:])
        writer.about["more"] = {"count": 2}
    return place


def contents(place: Path, kind: Kind = KIND) -> dict[str, bytes]:
    with opened(place, kind) as reader:
        found = {}
        for name in reader.members:
            with reader.member(name) as stream:
                found[name] = stream.read()
    return found


def rewritten(place: Path, change: Callable[[dict[str, bytes], dict[str, Any]], object], **info: Any) -> None:
    """Write the archive anew, its members and its manifest changed; ``info`` is set on each member."""
    with zipfile.ZipFile(place) as file:
        members = {name: file.read(name) for name in file.namelist()}
    manifest = json.loads(members.pop(MANIFEST))
    change(members, manifest)
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in members.items():
            entry = zipfile.ZipInfo(name)
            entry.compress_type = zipfile.ZIP_DEFLATED
            for attribute, value in info.items():
                setattr(entry, attribute, value)
            file.writestr(entry, data)
        file.writestr(MANIFEST, json.dumps(manifest))


def test_what_was_written_is_read(archive: Path) -> None:
    assert contents(archive) == MEMBERS
    with opened(archive, KIND) as reader:
        assert reader.manifest["more"] == {"count": 2}
        assert reader.manifest["format"] == "test"
        assert reader.bytes == sum(map(len, MEMBERS.values()))


def test_any_program_that_knows_zip_files_can_read_it(archive: Path) -> None:
    with zipfile.ZipFile(archive) as file:
        assert file.testzip() is None
        assert file.read("a.txt") == MEMBERS["a.txt"]


def test_lines_come_one_by_one(archive: Path) -> None:
    with opened(archive, KIND) as reader, reader.member("a.txt") as stream:
        assert list(stream.lines()) == [b"one", b"two"] * 1000


def test_only_its_owner_may_read_it(archive: Path) -> None:
    assert stat.S_IMODE(archive.stat().st_mode) == 0o600


def test_nothing_is_overwritten_unless_that_is_said(archive: Path) -> None:
    before = archive.read_bytes()
    with pytest.raises(InvalidInput, match="is there already"), written(archive, KIND):
        pytest.fail("it was begun")
    assert archive.read_bytes() == before
    with written(archive, KIND, force=True):
        pass
    assert contents(archive) == {}


def test_a_folder_is_no_file_to_write(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="is a folder"), written(tmp_path, KIND, force=True):
        pytest.fail("it was begun")
    with pytest.raises(InvalidInput, match="no folder"), written(tmp_path / "none" / "a.zip", KIND):
        pytest.fail("it was begun")


def test_what_goes_wrong_on_the_way_leaves_nothing(archive: Path) -> None:
    before = archive.read_bytes()
    with pytest.raises(TypeError), written(archive, KIND, force=True) as writer, writer.member("a.txt") as member:
        member.write("no bytes")  # type: ignore[arg-type]
    assert [path.name for path in archive.parent.iterdir()] == ["test.zip"]
    assert archive.read_bytes() == before


def test_what_is_not_there_or_no_archive_is_told(tmp_path: Path, archive: Path) -> None:
    with pytest.raises(NotFound), opened(tmp_path / "none.zip", KIND):
        pytest.fail("it was opened")
    other = tmp_path / "other.zip"
    for data in (b"", b"no zip file", b"PK\x03\x04" + bytes(200)):
        other.write_bytes(data)
        with pytest.raises(Unreadable, match="cannot be used"), opened(other, KIND):
            pytest.fail("it was opened")
    with pytest.raises(Unreadable, match="is no other kind"), opened(archive, Kind("x", 1, "other kind", bool)):
        pytest.fail("it was opened")


def test_one_that_was_cut_off_is_refused_at_once(archive: Path) -> None:
    data = archive.read_bytes()
    for length in (len(data) - 1, len(data) // 2, 30):
        archive.write_bytes(data[:length])
        with pytest.raises(Unreadable), opened(archive, KIND):
            pytest.fail("it was opened")


def test_no_byte_of_it_can_be_another(archive: Path) -> None:
    data = archive.read_bytes()
    harmless = 0
    for place in range(0, len(data), 97):
        other = bytearray(data)
        other[place] ^= 0xFF
        archive.write_bytes(other)
        try:
            assert contents(archive) == MEMBERS  # a byte that says nothing, such as a date
            harmless += 1
        except Unreadable:
            pass
    assert harmless < len(range(0, len(data), 97)) / 4


def test_a_member_that_is_not_what_the_manifest_says_is_refused(archive: Path) -> None:
    def tampered(members: dict[str, bytes], _: dict[str, Any]) -> None:
        members["a.txt"] = members["a.txt"].replace(b"one", b"ONE")

    rewritten(archive, tampered)
    with pytest.raises(Unreadable, match="is not what the manifest says"):
        contents(archive)


def drop(members: dict[str, bytes], _: dict[str, Any]) -> None:
    del members["b.bin"]


def add(members: dict[str, bytes], _: dict[str, Any]) -> None:
    members["c.txt"] = b"more"


def leave(members: dict[str, bytes], manifest: dict[str, Any]) -> None:
    """Change nothing."""


def called(name: str) -> Callable[[dict[str, bytes], dict[str, Any]], None]:
    def rename(members: dict[str, bytes], manifest: dict[str, Any]) -> None:
        members[name] = members.pop("a.txt")
        manifest["members"][name] = manifest["members"].pop("a.txt")

    return rename


def newer(_: dict[str, bytes], manifest: dict[str, Any]) -> None:
    manifest["version"] = 3


@pytest.mark.parametrize(
    ("change", "info", "words"),
    [
        (drop, {}, "its members are not those of its manifest"),
        (add, {}, "no test archive has a member 'c.txt'"),
        (called("../a.txt"), {}, "no test archive has a member '../a.txt'"),
        (called("/etc/passwd"), {}, "no test archive has a member"),
        (leave, {"external_attr": (stat.S_IFLNK | 0o777) << 16}, "no test archive has a member 'a.txt'"),
        (leave, {"compress_type": zipfile.ZIP_LZMA}, "no test archive has a member 'a.txt'"),
        (newer, {}, "written by a newer Pinakes"),
    ],
    ids=["lacking", "foreign", "outwards", "absolute", "link", "packed otherwise", "newer"],
)
def test_what_no_archive_has_is_refused(
    archive: Path, change: Callable[..., object], info: Mapping[str, Any], words: str
) -> None:
    rewritten(archive, change, **info)
    with pytest.raises(Unreadable, match=words), opened(archive, KIND):
        pytest.fail("it was opened")


def test_an_encrypted_manifest_is_refused(archive: Path) -> None:
    data = bytearray(archive.read_bytes())
    with zipfile.ZipFile(archive) as file:
        at = file.getinfo(MANIFEST).header_offset
    data[at + 6] |= 1
    data[data.rfind(b"PK\x01\x02") + 8] |= 1
    archive.write_bytes(data)
    with pytest.raises(Unreadable, match="is no test archive"), opened(archive, KIND):
        pytest.fail("it was opened")


@pytest.mark.parametrize("manifest", ["[]", "{}", "no JSON", '{"format": "test"}', "[" * 100_000])
def test_a_manifest_that_is_none_is_refused(tmp_path: Path, manifest: str) -> None:
    place = tmp_path / "a.zip"
    with zipfile.ZipFile(place, "w") as file:
        file.writestr(MANIFEST, manifest)
    with pytest.raises(Unreadable, match="is no test archive"), opened(place, KIND):
        pytest.fail("it was opened")


def test_one_that_would_become_a_thousand_times_as_large_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archives, "_SMALL_BYTES", 1_000_000)
    place = tmp_path / "bomb.zip"
    with written(place, KIND, level=9) as writer, writer.member("a.txt") as member:
        for _ in range(20):
            member.write(bytes(1_000_000))
    with pytest.raises(Unreadable, match="would become 20,000,000"), opened(place, KIND):
        pytest.fail("it was opened")


def test_a_line_without_an_end_is_refused(archive: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(archives, "_MOST_LINE_BYTES", 100)
    with opened(archive, KIND) as reader, pytest.raises(Unreadable, match="a line of more than 100 bytes"):
        list(_lines(reader, "b.bin"))


def _lines(reader: archives.ArchiveReader, name: str) -> Iterator[bytes]:
    with reader.member(name) as stream:
        yield from stream.lines()
