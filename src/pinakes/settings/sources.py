"""The settings of what collections are filled from, and of following it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, Self, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from pinakes.core import schedules
from pinakes.settings.base import Section

_TAGS = "Tags of every file beside its own, with {extension}, {suffix}, {name}, {path}; one for each {folder} above it."
_METADATA = "Metadata of every file, as `name=text` with {path}, {name}, {extension}, {suffix}; {size} is a number."
_LINK = "Links to files of a git source on a forge that is not known: {repository}, {commit}, {path}, {first}, {last}."

_ELSEWHERE = re.compile(r"[^/]*://|[^/@]+@[^/:]+:")
"""What a location begins with that is no path: a URL, ``user@host:path``."""

NO_LOGIN: Final = "leave it out, and name the environment variable of a token in token_variable"
"""What to do about a login in a URL, in words."""

MetadataTemplate: TypeAlias = Annotated[str, Field(pattern=r"^\w[^=]*=")]
"""A field of the metadata and the template of its value."""


def _is_schedule(text: str) -> str:
    try:
        if text:
            schedules.parse(text)
    except ValueError as error:
        raise PydanticCustomError("schedule", "{reason}", {"reason": str(error)}) from error
    return text


def _is_zone(name: str) -> str:
    try:
        if name:
            schedules.zone_of(name)
    except ValueError as error:
        raise PydanticCustomError("schedule", "{reason}", {"reason": str(error)}) from error
    return name


class SourceSettings(Section):
    """Where documents of a collection come from."""

    name: str = Field("", description="What it is called; none = its part, or the end of its location.")
    kind: Literal["folder", "git", "http", "slack", "confluence", "notion", "push"] = Field(
        "folder",
        description="folder; git; http: pages and sitemaps; slack, confluence, notion: an export of theirs; "
        "or push: documents are put there by calls, nothing is fetched.",
    )
    location: str = Field("", description="Path or URL; a path that is relative is seen from the home.")
    part: str = Field("", description="What tells it from other git or http sources of its location and collection.")
    ref: str | None = Field(None, description="Branch or tag of a git source; none = the default branch.")
    include: tuple[str, ...] = Field((), description="Globs of paths to read; none = all that can be read.")
    exclude: tuple[str, ...] = Field((), description="Globs of paths to leave out.")
    urls: tuple[str, ...] = Field((), description="More pages and sitemaps of an http source.")
    watch: bool = Field(False, description="Follow a folder as it changes, for as long as a server runs.")
    max_file_bytes: int | None = Field(None, ge=1, description="Its own `ingest.max_file_bytes`; none = that one.")
    tags: tuple[str, ...] = Field((), description=_TAGS)
    metadata: tuple[MetadataTemplate, ...] = Field((), description=_METADATA)
    depth: int | None = Field(
        None,
        ge=0,
        description="Commits of a git source that are kept; 0 = all, none = the newest, and all once somebody asks.",
    )
    link_template: str = Field("", description=_LINK)
    schedule: Annotated[str, AfterValidator(_is_schedule)] = Field(
        "", description="When a server reads it: a cron line, `@every 1h`, `@daily`; none = never."
    )
    token_variable: str = Field("", description="Environment variable that holds the token for it; none = no token.")
    open_network_only: bool = Field(
        False,
        description="Reach a git source only on the open network, or where `fetch.allow_private` names it; no path, no "
        "redirects. So it is for KnowledgeSource documents.",
    )
    on_delete: Literal["delete", "keep"] = Field(
        "delete", description="What becomes of documents whose files are gone: delete or keep them."
    )

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if self.urls and not self.location:
            object.__setattr__(self, "location", self.urls[0])
        if reason := self._unfit():
            raise PydanticCustomError("source", "{reason}", {"reason": reason})
        if self.kind == "push" and not self.location:
            object.__setattr__(self, "location", self.name)
        return self

    @property
    def place(self) -> tuple[str, str, str]:
        """Kind, location and part: what tells it from other sources of its collection."""
        return self.kind, self.location, self.part

    def seen_from(self, home: Path) -> Self:
        """Return these settings with the ``whole_path`` of a location that is a path, seen from ``home``."""
        if self.kind in ("http", "push") or _ELSEWHERE.match(self.location):
            return self
        return self.model_copy(update={"location": whole_path(self.location, home.expanduser())})

    def _unfit(self) -> str:
        """Say what is wrong with these settings together, "" where nothing is."""
        if self.kind != "push":
            if self.urls and self.kind != "http":
                return f"is a {self.kind}, so it has no urls"
            if self.part and self.kind not in ("git", "http"):
                return f"is a {self.kind}, so it has no part: one source has all its patterns"
            return "" if self.location else "has no location"
        given = self.model_fields_set - {"kind", "name", "location", "collection"}
        if given:
            return f"is pushed, so nothing is fetched: it has no {', '.join(sorted(given))}"
        return "" if self.name or self.location else "has no name"


class PlacedSource(SourceSettings):
    """A source that says which collection it fills."""

    collection: str = Field("", description="The collection it fills; none = the setting `collection`.")


def whole_path(location: str, base: Path) -> str:
    """Return the one way in which a path is kept: absolute, with no ``~`` and no ``..``; relative to ``base``.

    Links are followed up to the last ``..`` only, where they decide what is meant: one that is pointed elsewhere later
    stays the same place.

    Raises:
        OSError: ``base`` is relative, is needed, and the working directory is gone.
        ValueError: no path has such characters.
    """
    path = Path(os.path.expanduser(location))  # noqa: PTH111 - leaves "~nobody" as it is
    parts = (path if path.is_absolute() else base.absolute() / path).parts
    up = max((number for number, part in enumerate(parts, start=1) if part == ".."), default=0)
    return str(Path(os.path.realpath(Path(*parts[:up])), *parts[up:]) if up else Path(*parts))


def not_apart(sources: Mapping[str, Iterable[SourceSettings]]) -> str:
    """Say what two of these sources, by collection, have in common that tells sources apart; "" where nothing."""
    names: set[str] = set()
    places: set[tuple[str, str, str, str]] = set()
    for collection, every in sources.items():
        for source in every:
            place = collection, *source.place
            if source.name and source.name in names:
                return f"gives two sources the name {source.name!r}"
            if place in places:
                return f"has {source.location!r} twice for collection {collection!r}: {_apart(source)}"
            names.add(source.name)
            places.add(place)
    return ""


def _apart(source: SourceSettings) -> str:
    if source.kind not in ("git", "http"):
        return "one source has all its patterns"
    return "one source has all its patterns, or each has another `part`"


def exposed(sources: Mapping[str, Iterable[SourceSettings]]) -> str:
    """Say which of these sources, by collection, has a login in its URL, which all who list sources would see."""
    for collection, every in sources.items():
        for number, source in enumerate(every, start=1):
            if any(map(has_login, (source.location, *source.urls))):
                which = repr(source.name) if source.name else f"no. {number}"
                return f"has a login in the URL of source {which} of collection {collection!r}: {NO_LOGIN}"
    return ""


def has_login(url: str) -> bool:
    """Say whether a URL carries a password, or where a name is one, a name."""
    if "://" not in url:
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return "@" in url
    return bool(parts.password or (parts.username and parts.scheme.lower() in ("http", "https")))


class SyncSettings(Section):
    """When sources are read, and tried again where that failed."""

    timezone: Annotated[str, AfterValidator(_is_zone)] = Field(
        "", description="Time zone of cron lines, as `Europe/Berlin`; none = that of the machine."
    )
    jitter_s: float = Field(30, ge=0, description="Scheduled runs begin up to so much later, in seconds, each its own.")
    retry_first_s: float = Field(60, gt=0, description="What failed is tried again after so long, in seconds.")
    retry_longest_s: float = Field(86_400, gt=0, description="Then each time twice as long after, up to this, in s.")


class WatchSettings(Section):
    """How folders are followed as they change."""

    settle_ms: float = Field(300, ge=0, description="A changed file is read once it stays the same so long, in ms.")
    polling: Literal["auto", "always", "never"] = Field(
        "auto", description="Look again and again; auto = where the file system does not tell of changes."
    )
    poll_s: float = Field(5, gt=0, description="So often, in seconds; less often where looking takes long.")


class KnowledgeBaseSettings(Section):
    """A folder that is followed without being added: whatever is put there is found."""

    enabled: bool = Field(False, description="Follow the folder.")
    folder: Path = Field(Path("knowledge_base"), description="The folder; seen from the home where it is relative.")
    collection: str = Field("", description="Collection of its documents; none = the setting `collection`.")
    max_file_bytes: int = Field(10_485_760, ge=1, description="Larger files are skipped, in bytes.")
    include: tuple[str, ...] = Field((), description="Globs of paths to read; none = all that can be read.")
    exclude: tuple[str, ...] = Field((), description="Globs of paths to leave out.")
    tags: tuple[str, ...] = Field(
        ("source:knowledge_base", "filetype:{extension}", "folder:{folder}"), description=_TAGS
    )
    metadata: tuple[MetadataTemplate, ...] = Field(
        (
            "source=knowledge_base:{path}",
            "ingested_from=knowledge_base",
            "kb_relative_path={path}",
            "file_extension={suffix}",
            "file_size={size}",
        ),
        description=_METADATA,
    )

    def location(self, home: Path) -> str:
        """Return where the folder is."""
        return whole_path(str(self.folder), home.expanduser())
