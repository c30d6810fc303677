"""Parses ``as_of``: a day, a time, how long ago, or a git ref (branch, tag, commit) of a repository."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from contextlib import suppress
from datetime import UTC, datetime, time, timedelta

from pinakes.catalog import Connection, collections, sources
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.sources import SourceRecord
from pinakes.core.errors import InvalidInput
from pinakes.sources import read_at
from pinakes.sources.git_urls import repository_uri

_COMMIT = re.compile(r"[0-9a-f]{7,64}")
_AGO = re.compile(r"(\d{1,5}) ?([mhdw])(?: ago)?")
"""Of at most five digits, since seven characters may be a commit: ``123456d``."""
_UNITS = {"m": timedelta(minutes=1), "h": timedelta(hours=1), "d": timedelta(days=1), "w": timedelta(weeks=1)}
_SLUG = re.compile(r"[^\w.-]+")


def moment(words: str) -> str:
    """Return a day (its end), a time, or how long ago, in the catalogue's format; a time without a zone is UTC.

    How long ago is told to the minute, so that questions one after the other share the documents of then.

    Raises:
        InvalidInput: ``words`` is neither.
    """
    try:
        if ago := _AGO.fullmatch(words.strip()):
            then = datetime.now(UTC) - int(ago[1]) * _UNITS[ago[2]]
            return then.replace(second=0, microsecond=0).isoformat(timespec="milliseconds")
        at = datetime.fromisoformat(words.strip())
        if len(words.strip()) <= len("2026-01-31"):
            at = datetime.combine(at.date(), time.max)
        at = at.replace(tzinfo=UTC) if at.tzinfo is None else at.astimezone(UTC)
    except (ValueError, OverflowError) as error:
        raise InvalidInput(
            f"{words!r} is no day or time.",
            hint="Write 2026-01-31 or 2026-01-31T18:00, in UTC, or how long ago: 90m, 12h, 2d, 3w.",
        ) from error
    return at.isoformat(timespec="milliseconds")


def in_words(at: str, created_at: str) -> str:
    """Return how notes begin that name the time of a state, ``at``, of a collection that was made at ``created_at``."""
    words = f"as of {at[:19]}Z"
    if at > datetime.now(UTC).isoformat(timespec="milliseconds"):
        return f"{words}, which is in the future: as it is now"
    return f"{words}, before the collection was made ({created_at[:19]}Z)" if at < created_at else words


def is_moment(words: str) -> bool:
    """Return whether ``words`` are a day, a time, or how long ago."""
    with suppress(InvalidInput):
        return bool(moment(words))
    return False


def held_at(connection: Connection, record: CollectionRecord, words: str) -> CollectionRecord | None:
    """Return the collection that holds a repository of ``record`` at a branch, tag or commit.

    This may be ``record`` itself. None if ``words`` is a day or time, or ``record`` has no repository.

    Raises:
        InvalidInput: no collection holds it; the hint gives the command that adds it.
    """
    words = words.strip()
    own = [one for one in sources.list_all(connection, record.id) if one.kind == "git"]
    if is_moment(words) or not own:
        return None
    places = {repository_uri(one.location) for one in own}
    for one in sorted(collections.list_all(connection), key=lambda each: each.id != record.id):
        for source in sources.list_all(connection, one.id):
            if source.kind == "git" and repository_uri(source.location) in places and _is_at(source, words):
                return one
    raise InvalidInput(
        f"{words!r} is no day or time, and no collection holds {own[0].location!r} as it was there.",
        hint=f"If it is a branch, tag or commit, add it, then ask again: {_add_command(record, own[0], words)}",
    )


def holding(connection: Connection, records: Sequence[CollectionRecord], words: str) -> list[CollectionRecord]:
    """Return the collections to search for the state of ``records`` as of ``words``, each once.

    For a day or time these are ``records``; for a git ref, the collections that hold a repository at that ref.

    Raises:
        InvalidInput: no collection holds the ref.
    """
    if is_moment(words):
        return list(records)
    found: dict[int, CollectionRecord] = {}
    refused: InvalidInput | None = None
    for record in records:
        try:
            there = held_at(connection, record, words)
        except InvalidInput as error:
            refused = refused or error
            continue
        if there is not None:
            found.setdefault(there.id, there)
    if refused is not None and not found:
        raise refused
    return list(found.values()) or list(records)


def _is_at(source: SourceRecord, words: str) -> bool:
    ref, commit = read_at(source.kind, source.state)
    if commit is None:
        return False
    return words == ref or (bool(_COMMIT.fullmatch(words.lower())) and commit.startswith(words.lower()))


def _add_command(record: CollectionRecord, source: SourceRecord, ref: str) -> str:
    command = ["pinakes", "add", source.location, "--ref", ref, "-c", f"{record.name}-{_SLUG.sub('-', ref)}"]
    for name in ("include", "exclude"):
        for pattern in source.options.get(name) or ():
            command += [f"--{name}", pattern]
    return shlex.join(command)
