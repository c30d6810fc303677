"""A catalogue of an older version is brought up to date with all it holds."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from catalog_making import first_schema

from pinakes.catalog import Catalog, changes, collections, documents, history, schema
from pinakes.catalog.changes import Change
from pinakes.catalog.dialects import database


@pytest.fixture
def old(tmp_path: Path) -> Iterator[sqlite3.Connection]:
    """A catalogue of schema 0001 with a collection, two documents, and changes of which the newest is gone."""
    first_schema(tmp_path)
    with closing(sqlite3.connect(tmp_path / "catalog.db", isolation_level=None)) as connection:
        connection.execute("INSERT INTO models VALUES (1, 'm/3', 3)")
        connection.execute("INSERT INTO collections VALUES (1, 'kept', 'Words.', 1, 4, 'then')")
        for number in (1, 2):
            connection.execute(
                "INSERT INTO documents VALUES (?, ?, 1, NULL, ?, 'p', 't', 'text', NULL, 'words', '{}', '{}', '', "
                "'h', 1, 1, 1, 'then', 'then')",
                (number, f"uid{number}", f"uri{number}"),
            )
        for number, content, at in [(1, "h0", "then"), (2, "h", "later")]:
            connection.execute("INSERT INTO versions VALUES (1, ?, ?, ?)", (number, content, at))
        connection.execute("INSERT INTO embeddings VALUES (1, x'00112233445566778899aabbccddeeff', 1, x'003c00000000')")
        for seq, document, op in [(3, 7, "remove"), (5, 1, "put"), (8, 2, "put"), (41, 9, "remove")]:
            connection.execute("INSERT INTO changes VALUES (?, 1, ?, ?)", (seq, document, op))
        connection.execute("DELETE FROM changes WHERE seq = 41")
        yield connection


def tables(connection: sqlite3.Connection) -> dict[str, list[dict[str, Any]]]:
    names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
    left_out = ("alembic_version", "sqlite_sequence")
    return {name: rows(connection, name) for name in names if name not in left_out}


def rows(connection: sqlite3.Connection, table: str) -> list[dict[str, Any]]:
    found = connection.execute(f"SELECT * FROM {table}")
    names = [column[0] for column in found.description]
    return [dict(zip(names, row, strict=True)) for row in found]


def test_everything_is_kept(old: sqlite3.Connection, tmp_path: Path) -> None:
    before = tables(old)
    assert len(before["documents"]) == 2
    Catalog.at(tmp_path).close()
    after = tables(old)
    for table in before.keys() - {"versions"}:
        kept = [{name: now[name] for name in was} for was, now in zip(before[table], after[table], strict=False)]
        assert kept == before[table], table
    assert old.execute("SELECT version_num FROM alembic_version").fetchone() == (database.HEAD,)


def test_what_was_known_of_versions_begins_the_histories(old: sqlite3.Connection, tmp_path: Path) -> None:
    catalog = Catalog.at(tmp_path)
    with catalog.write() as connection:
        newer, older = history.list_versions(connection, 1, "uid1")
        assert (older.number, older.op, older.at, older.content_hash, older.readable) == (
            1,
            "created",
            "then",
            "h0",
            False,
        )
        assert (newer.number, newer.op, newer.at, newer.content_hash, newer.readable) == (
            2,
            "updated",
            "later",
            "h",
            True,
        )
        connection.execute(schema.documents.update().where(schema.documents.c.id == 1).values(version=2))
        documents.remove(connection, 1)
        assert [one.op for one in history.list_versions(connection, 1, "uid1")] == ["deleted", "updated", "created"]
        state = history.state(connection, 1, "uid1", 2)
        assert state is not None
        assert (state.text, state.uri, state.created_at) == ("words", "uri1", "then")
    catalog.close()


def test_the_numbers_of_changes_go_on_where_they_were(old: sqlite3.Connection, tmp_path: Path) -> None:
    catalog = Catalog.at(tmp_path)
    with catalog.write() as connection:
        changes.record(connection, 1, 1, "put")
        found = changes.since(connection, 1, 0, 100)
    assert found == [Change(3, 7, "remove"), Change(8, 2, "put"), Change(42, 1, "put")]
    catalog.close()


def test_a_document_may_then_have_a_change_of_each_kind(old: sqlite3.Connection, tmp_path: Path) -> None:
    catalog = Catalog.at(tmp_path)
    with catalog.write() as connection:
        for op in ("embed", "approximate"):
            connection.execute(changes.changes.insert(), {"collection_id": 1, "document_id": 2, "op": op})
        found = changes.since(connection, 1, 5, 100)
        assert [change.op for change in found] == ["put", "embed", "approximate"]
        assert collections.get(connection, "kept").head == found[-1].seq > 41
    with pytest.raises(Exception, match="UNIQUE"), catalog.write() as connection:
        connection.execute(changes.changes.insert(), {"collection_id": 1, "document_id": 2, "op": "embed"})
    catalog.close()


def test_it_is_done_once_and_what_is_dropped_with_a_collection_still_is(
    old: sqlite3.Connection, tmp_path: Path
) -> None:
    for _ in range(2):
        Catalog.at(tmp_path).close()
    old.execute("PRAGMA foreign_keys=ON")
    old.execute("DELETE FROM collections")
    assert tables(old)["changes"] == []
    assert tables(old)["documents"] == []


def test_documents_can_be_filtered_by_what_they_are_there_for(old: sqlite3.Connection, tmp_path: Path) -> None:
    old.execute("UPDATE documents SET path = 'mm/Kconfig', kind = 'code' WHERE id = 1")
    old.execute("INSERT INTO fields VALUES (1, 2, 1, 'content_type', 'text/plain', NULL)")
    Catalog.at(tmp_path).close()
    found = old.execute("SELECT document_id, value FROM fields WHERE name = 'content_type' ORDER BY document_id, id")
    assert found.fetchall() == [(1, "config"), (2, "text/plain"), (2, "documentation")]


def test_a_folder_that_was_kept_in_another_way_stays_one_source(
    old: sqlite3.Connection, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", "/users/me")
    kept = {
        "~/notes": "/users/me/notes",
        "/users/me/work/../code": "/users/me/code",
        "/srv/twice": "/srv/twice",
        "/srv/./twice/": "/srv/./twice/",  # that source is there already
        "notes": "notes",  # nobody knows any more where it began
        "https://forge.example/a/../b": "https://forge.example/a/../b",
    }
    for number, location in enumerate(kept):
        kind = "git" if "forge" in location else "folder"
        old.execute("INSERT INTO sources VALUES (?, 1, ?, ?, '{}', NULL, NULL, NULL)", (number, kind, location))
    Catalog.at(tmp_path).close()
    assert [place for (place,) in old.execute("SELECT location FROM sources ORDER BY id")] == list(kept.values())


def test_what_was_read_from_a_source_stays_when_it_may_have_parts(old: sqlite3.Connection, tmp_path: Path) -> None:
    old.execute("INSERT INTO sources VALUES (1, 1, 'git', '/a', '{}', 'state', NULL, NULL)")
    old.execute("UPDATE documents SET source_id = 1 WHERE id = 2")
    old.execute(
        "INSERT INTO files (source_id, path, fingerprint, status, document_id) VALUES (1, 'a', 'f', 'indexed', 2)"
    )
    Catalog.at(tmp_path).close()
    assert old.execute("SELECT source_id FROM documents ORDER BY id").fetchall() == [(None,), (1,)]
    assert old.execute("SELECT source_id, path, document_id FROM files").fetchall() == [(1, "a", 2)]
    assert old.execute("SELECT location, part, state FROM sources").fetchall() == [("/a", "", "state")]
    assert old.execute("PRAGMA foreign_key_check").fetchall() == []
    old.execute("INSERT INTO sources (collection_id, kind, location, part, options) VALUES (1, 'git', '/a', 'b', '{}')")
    with pytest.raises(sqlite3.IntegrityError):
        old.execute("INSERT INTO sources (collection_id, kind, location, options) VALUES (1, 'git', '/a', '{}')")


def test_a_migrated_catalogue_minds_what_belongs_together(old: sqlite3.Connection, tmp_path: Path) -> None:
    catalog = Catalog.at(tmp_path)
    with catalog.write() as connection:
        connection.execute(schema.collections.delete())
    assert tables(old)["documents"] == []
    catalog.close()


def test_what_a_file_was_skipped_for_is_told_from_its_reason(old: sqlite3.Connection, tmp_path: Path) -> None:
    old.execute("INSERT INTO sources VALUES (1, 1, 'folder', '/a', '{}', NULL, NULL, NULL)")
    reasons = {
        "No extractable text found in PDF. It needs OCR: pip install 'pinakes[ocr]'": "NEEDS_OCR",
        "No extractable text found in PDF, not by OCR either. Exclude the file.": "NO_TEXT",
        "PDF is encrypted and cannot be decrypted. Set a password.": "LOCKED",
        "Empty file": None,
    }
    for number, reason in enumerate(reasons):
        old.execute(
            "INSERT INTO files (source_id, path, fingerprint, status, reason) VALUES (1, ?, 'f', 'skipped', ?)",
            (str(number), reason),
        )
    Catalog.at(tmp_path).close()
    assert [code for (code,) in old.execute("SELECT code FROM files ORDER BY path")] == list(reasons.values())
