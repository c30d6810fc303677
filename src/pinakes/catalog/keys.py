"""API keys.

A key is random, 256 bits, and shown once; what is kept is its SHA-256. Slow hashes protect passwords, which can be
guessed. Nobody guesses 256 bits, so a quick hash is as safe, and each request can be checked against it.
"""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Final, get_args

from sqlalchemy import Connection, or_, select, update

from pinakes.catalog.collections import check_name
from pinakes.catalog.engine import now
from pinakes.catalog.schema import keys
from pinakes.core.caller import Scope
from pinakes.core.errors import InvalidInput, InvalidName, NotFound

SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
BEGINNING: Final = "pnk_"
"""What the text of every key begins with."""

_SECRET = re.compile(rf"{BEGINNING}(?P<prefix>[a-z0-9]{{8}})_[A-Za-z0-9_-]{{43}}", re.ASCII)
_NAME = re.compile(r"\w[\w .@-]{0,99}")
_LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789"
_PREFIX_CHARS = 8
_OURS = frozenset({"local"})
"""What callers without a key are called."""

_NOTED_EVERY = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Key:
    """A key, without its secret. Times are ISO 8601 in UTC, None where there is none.

    ``prefix`` stands in the secret and recognises it. ``collections`` are the names of those it is for, None = all.
    ``per_minute``: so many requests, 0 = as many as the setting ``server.per_minute`` allows.
    """

    id: int
    name: str
    prefix: str
    scope: Scope
    collections: tuple[str, ...] | None
    per_minute: int
    created_at: str
    expires_at: str | None = None
    last_used_at: str | None = None
    revoked_at: str | None = None

    @property
    def state(self) -> str:
        """Return "valid", "expired" or "revoked"."""
        if self.revoked_at is not None:
            return "revoked"
        return "expired" if self.expires_at is not None and self.expires_at <= now() else "valid"


def create(
    connection: Connection,
    name: str,
    scope: Scope = "read",
    collections: Sequence[str] | None = None,
    *,
    per_minute: int = 0,
    expires_at: datetime | None = None,
) -> tuple[Key, str]:
    """Make a key; return it and its secret, which is not kept.

    Raises:
        InvalidName: a key or a collection cannot be called so, or there is, or was, a key of that name.
        InvalidInput: an unknown scope, no collection at all, a negative rate, or a time that has passed.
    """
    if not _NAME.fullmatch(name) or name in _OURS or name != name.strip():
        raise InvalidName(f"A key cannot be called {name[:100]!r}.", hint="Use letters, digits, spaces and . _ @ -")
    if scope not in SCOPES:
        raise InvalidInput(f"There is no scope {scope!r}.", hint=f"There are {', '.join(SCOPES)}.")
    if per_minute < 0:
        raise InvalidInput(f"A key cannot be for {per_minute} requests a minute.", hint="0 = as the setting says.")
    if collections is not None and not collections:
        raise InvalidInput("A key has to be for some collection.", hint="Name one, or none for all.")
    if expires_at is not None and expires_at <= datetime.now(UTC):
        raise InvalidInput("That time has passed: the key would be of no use.", hint="Choose a later one.")
    if connection.scalar(select(keys.c.id).where(keys.c.name == name)) is not None:
        raise InvalidName(f"There is a key {name!r} already.", hint="Choose another name; revoked keys keep theirs.")
    prefix = "".join(secrets.choice(_LETTERS) for _ in range(_PREFIX_CHARS))
    secret = f"{BEGINNING}{prefix}_{secrets.token_urlsafe(32)}"
    values = {
        "name": name,
        "prefix": prefix,
        "hash": _hashed(secret),
        "scope": scope,
        "collections": None if collections is None else sorted({check_name(one) for one in collections}),
        "per_minute": per_minute,
        "created_at": now(),
        "expires_at": None if expires_at is None else _time(expires_at),
    }
    connection.execute(keys.insert().values(values))
    return get(connection, name), secret


def get(connection: Connection, name: str) -> Key:
    """Return the key called ``name``.

    Raises:
        NotFound: there is none.
    """
    row = connection.execute(select(*_COLUMNS).where(keys.c.name == name)).first()
    if row is None:
        raise NotFound(f"There is no key {name!r}.", hint="`pinakes keys` lists them.")
    return _key(row)


def list_all(connection: Connection) -> list[Key]:
    """Return all keys by name, those included that are valid no more."""
    return [_key(row) for row in connection.execute(select(*_COLUMNS).order_by(keys.c.name))]


def of_secret(connection: Connection, secret: str) -> Key | None:
    """Return the valid key whose secret this is, None where there is none; how long that takes does not tell."""
    found = _SECRET.fullmatch(secret)
    if found is None:
        return None
    row = connection.execute(select(*_COLUMNS, keys.c.hash).where(keys.c.prefix == found["prefix"])).first()
    if row is None or not hmac.compare_digest(row.hash, _hashed(secret)):
        return None
    key = _key(row[:-1])
    return key if key.state == "valid" else None


def revoke(connection: Connection, name: str) -> Key:
    """Make a key valid no more, from the next request on; one that was revoked before stays as it is.

    Raises:
        NotFound: there is none.
    """
    valid = keys.c.name == name, keys.c.revoked_at.is_(None)
    connection.execute(update(keys).where(*valid).values(revoked_at=now()))
    return get(connection, name)


def used(connection: Connection, key: Key) -> None:
    """Note that a key was used just now."""
    connection.execute(update(keys).where(keys.c.id == key.id).values(last_used_at=now()))


def to_be_noted(key: Key) -> bool:
    """Say whether its last use was noted so long ago that this one should be."""
    if key.last_used_at is None:
        return True
    return datetime.now(UTC) - datetime.fromisoformat(key.last_used_at) >= _NOTED_EVERY


def any_valid(connection: Connection) -> bool:
    """Say whether anybody has a key that is valid."""
    lasting = or_(keys.c.expires_at.is_(None), keys.c.expires_at > now())
    return connection.scalar(select(keys.c.id).where(keys.c.revoked_at.is_(None), lasting).limit(1)) is not None


_COLUMNS = tuple(column for column in keys.c if column.name != "hash")


def _key(row: Any) -> Key:
    values = dict(zip((column.name for column in _COLUMNS), row, strict=True))
    allowed = values.pop("collections")
    return Key(**values, collections=None if allowed is None else tuple(allowed))


def _hashed(secret: str) -> bytes:
    return hashlib.sha256(secret.encode()).digest()


def _time(moment: datetime) -> str:
    return moment.astimezone(UTC).isoformat(timespec="milliseconds")
