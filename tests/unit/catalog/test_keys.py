"""Keys: shown once, kept as a hash, valid until they expire or are revoked."""

from __future__ import annotations

import sqlite3
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from sqlalchemy import update

from pinakes.catalog import Catalog, keys, schema
from pinakes.core.errors import InvalidInput, InvalidName, NotFound


def hours_from_now(hours: float) -> datetime:
    return datetime.now(UTC) + timedelta(hours=hours)


def test_a_key_is_found_by_its_secret_and_by_nothing_else(catalog: Catalog) -> None:
    with catalog.write() as connection:
        key, secret = keys.create(connection, "agent", "write", ["notes", "docs"], per_minute=7)
        _, other = keys.create(connection, "other")
        assert keys.of_secret(connection, secret) == key
        forged = secret[:13] + other[13:]
        for wrong in (forged, secret[:-1], secret + "x", secret.upper(), "", "pnk_", "é" * 20, key.prefix):
            assert keys.of_secret(connection, wrong) is None
    assert (key.name, key.scope, key.collections, key.per_minute) == ("agent", "write", ("docs", "notes"), 7)
    assert secret.startswith(f"pnk_{key.prefix}_")
    assert len(secret) == len("pnk_12345678_") + 43


def test_no_two_secrets_are_alike(catalog: Catalog) -> None:
    with catalog.write() as connection:
        secrets = {keys.create(connection, f"key {number}")[1] for number in range(50)}
    assert len(secrets) == 50


def test_the_secret_is_not_in_the_database(tmp_path: Path) -> None:
    catalog = Catalog.at(tmp_path)
    with catalog.write() as connection:
        _, secret = keys.create(connection, "agent")
    catalog.close()
    with sqlite3.connect(tmp_path / "catalog.db") as connection:
        dump = "\n".join(connection.iterdump())
    connection.close()
    assert secret[4:12] in dump
    assert secret[13:] not in dump
    assert secret[13:].encode().hex() not in dump.lower()


def test_a_revoked_key_is_valid_no_more_but_its_name_stays_taken(catalog: Catalog) -> None:
    with catalog.write() as connection:
        _, secret = keys.create(connection, "agent")
        first = keys.revoke(connection, "agent")
        assert keys.of_secret(connection, secret) is None
        assert keys.revoke(connection, "agent") == first
        assert first.state == "revoked"
        with pytest.raises(InvalidName, match="already"):
            keys.create(connection, "agent")
        with pytest.raises(NotFound, match="no key 'nobody'"):
            keys.revoke(connection, "nobody")


def test_a_key_expires(catalog: Catalog) -> None:
    with catalog.write() as connection:
        key, secret = keys.create(connection, "agent", expires_at=hours_from_now(1))
        assert key.state == "valid"
        assert keys.any_valid(connection)
        past = (datetime.now(UTC) - timedelta(seconds=1)).isoformat(timespec="milliseconds")
        connection.execute(update(schema.keys).values(expires_at=past))
        assert keys.of_secret(connection, secret) is None
        assert [one.state for one in keys.list_all(connection)] == ["expired"]
        assert not keys.any_valid(connection)


def test_only_a_key_that_is_valid_counts_as_one(catalog: Catalog) -> None:
    with catalog.write() as connection:
        assert not keys.any_valid(connection)
        keys.create(connection, "agent")
        assert keys.any_valid(connection)
        keys.revoke(connection, "agent")
        assert not keys.any_valid(connection)


def test_a_use_is_noted_once_a_minute(catalog: Catalog) -> None:
    with catalog.write() as connection:
        key, _ = keys.create(connection, "agent")
        assert key.last_used_at is None
        assert keys.to_be_noted(key)
        keys.used(connection, key)
        used = keys.get(connection, "agent")
        assert used.last_used_at is not None
        assert not keys.to_be_noted(used)
        before = (datetime.now(UTC) - timedelta(seconds=61)).isoformat(timespec="milliseconds")
        connection.execute(update(schema.keys).values(last_used_at=before))
        assert keys.to_be_noted(keys.get(connection, "agent"))


@pytest.mark.parametrize("name", ["", " agent", "local", "a\nb", "x" * 101, "-a"])
def test_some_names_are_refused(catalog: Catalog, name: str) -> None:
    with catalog.write() as connection, pytest.raises(InvalidName):
        keys.create(connection, name)


def test_a_key_that_could_not_be_used_is_not_made(catalog: Catalog) -> None:
    with catalog.write() as connection:
        with pytest.raises(InvalidInput, match="passed"):
            keys.create(connection, "a", expires_at=hours_from_now(-1))
        with pytest.raises(InvalidInput, match="some collection"):
            keys.create(connection, "a", collections=[])
        with pytest.raises(InvalidInput, match="scope 'root'"):
            keys.create(connection, "a", "root")  # type: ignore[arg-type]
        with pytest.raises(InvalidInput, match="-1 requests"):
            keys.create(connection, "a", per_minute=-1)
        with pytest.raises(InvalidName, match="cannot be called"):
            keys.create(connection, "a", collections=["../b"])
        assert keys.list_all(connection) == []
