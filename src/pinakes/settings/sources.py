"""The settings of sources, and of following them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Final, Literal, Self, TypeAlias
from urllib.parse import urlsplit

from pydantic import AfterValidator, Field, model_validator
from pydantic_core import PydanticCustomError

from pinakes.core import schedules
from pinakes.settings.base import Section

_TAGS = "Tags added to every file, with {extension}, {suffix}, {name}, {path}; one per {folder} above it."
_METADATA = (
    "Metadata added to every file, as `name=text` with {path}, {name}, {extension}, {suffix}; {size} is a number."
)
_LINK = (
    "Template of links to files of a git source on an unknown forge: {repository}, {commit}, {path}, {first}, {last}."
)

_ELSEWHERE = re.compile(r"[^/]*://|[^/@]+@[^/:]+:")
"""The beginning of a location that is not a path: a URL, ``user@host:path``."""

NO_LOGIN: Final = "leave it out, and name the environment variable of a token in token_variable"
"""The advice for a login in a URL."""

MetadataTemplate: TypeAlias = Annotated[str, Field(pattern=r"^\w[^=]*=")]
"""A metadata field and the template of its value."""


def _read_by(parse: Callable[[str], object]) -> AfterValidator:
    """Return a validator of texts that ``parse`` can read; an empty one needs not be read."""

    def check(text: str) -> str:
        try:
            if text:
                parse(text)
        except ValueError as error:
            raise PydanticCustomError("schedule", "{reason}", {"reason": str(error)}) from error
        return text

    return AfterValidator(check)


class SourceSettings(Section):
    """A source of documents of a collection."""

    name: str = Field("", description="Name of the source; empty = its part, or the end of its location.")
    kind: Literal["folder", "git", "http", "slack", "confluence", "notion", "push"] = Field(
        "folder",
        description="folder; git; http: pages and sitemaps; slack, confluence, notion: an export of that system; "
        "or push: documents are put by calls, nothing is fetched.",
    )
    location: str = Field("", description="Path or URL; relative paths start at the home.")
    part: str = Field("", description="Distinguishes git or http sources with the same location and collection.")
    ref: str | None = Field(None, description="Branch or tag of a git source; none = the default branch.")
    include: tuple[str, ...] = Field((), description="Globs of paths to read; empty = all readable files.")
    exclude: tuple[str, ...] = Field((), description="Globs of paths to exclude.")
    urls: tuple[str, ...] = Field((), description="Further pages and sitemaps of an http source.")
    watch: bool = Field(False, description="Watch a folder for changes while a server runs.")
    max_file_bytes: int | None = Field(None, ge=1, description="Overrides `ingest.max_file_bytes` for this source.")
    tags: tuple[str, ...] = Field((), description=_TAGS)
    metadata: tuple[MetadataTemplate, ...] = Field((), description=_METADATA)
    depth: int | None = Field(
        None,
        ge=0,
        description="Commits of a git source that are fetched; 0 = all, none = the latest, and all when needed.",
    )
    link_template: str = Field("", description=_LINK)
    schedule: Annotated[str, _read_by(schedules.parse)] = Field(
        "", description="Schedule on which a server reads it: a cron line, `@every 1h`, `@daily`; empty = never."
    )
    token_variable: str = Field("", description="Environment variable that holds its token; empty = no token.")
    open_network_only: bool = Field(
        False,
        description="Allow a git source only on the public network, or where `fetch.allow_private` names it; no local "
        "path, no redirects. Always on for KnowledgeSource documents.",
    )
    on_delete: Literal["delete", "keep"] = Field(
        "delete", description="What happens to documents whose files are gone: delete or keep."
    )

    @model_validator(mode="after")
    def _fits_its_kind(self) -> Self:
        if self.urls and not self.location:
            object.__setattr__(self, "location", self.urls[0])
        if reason := self._inconsistency():
            raise PydanticCustomError("source", "{reason}", {"reason": reason})
        if self.kind == "push" and not self.location:
            object.__setattr__(self, "location", self.name)
        return self

    @property
    def place(self) -> tuple[str, str, str]:
        """Kind, location and part, which identify it among the sources of its collection."""
        return self.kind, self.location, self.part

    def seen_from(self, home: Path) -> Self:
        """Return these settings with an absolute location (``whole_path``) if it is a path, relative to ``home``."""
        if self.kind in ("http", "push") or _ELSEWHERE.match(self.location):
            return self
        return self.model_copy(update={"location": whole_path(self.location, home.expanduser())})

    def _inconsistency(self) -> str:
        """Return what is inconsistent in these settings, "" if nothing is."""
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
    """A source that names its collection."""

    collection: str = Field("", description="Its collection; empty = the setting `collection`.")


def whole_path(location: str, base: Path) -> str:
    """Return the canonical form of a path: absolute, without ``~`` and ``..``; relative to ``base``.

    Links are resolved only up to the last ``..``, where they determine the meaning: a link that is changed later keeps
    its path.

    Raises:
        OSError: ``base`` is relative, is needed, and the working directory does not exist.
        ValueError: the path has invalid characters.
    """
    path = Path(os.path.expanduser(location))  # noqa: PTH111 - leaves "~nobody" as it is
    parts = (path if path.is_absolute() else base.absolute() / path).parts
    up = max((number for number, part in enumerate(parts, start=1) if part == ".."), default=0)
    return str(Path(os.path.realpath(Path(*parts[:up])), *parts[up:]) if up else Path(*parts))


def not_apart(sources: Mapping[str, Iterable[SourceSettings]]) -> str:
    """Return what two of these sources (by collection) have in common that must be unique; "" if nothing."""
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
    """Return which of these sources (by collection) has a login in its URL, which lists of sources would show."""
    for collection, every in sources.items():
        for number, source in enumerate(every, start=1):
            if any(map(has_login, (source.location, *source.urls))):
                which = repr(source.name) if source.name else f"no. {number}"
                return f"has a login in the URL of source {which} of collection {collection!r}: {NO_LOGIN}"
    return ""


def has_login(url: str) -> bool:
    """Return whether a URL contains a password, or a user name that serves as one."""
    if "://" not in url:
        return False
    try:
        parts = urlsplit(url)
    except ValueError:
        return "@" in url
    return bool(parts.password or (parts.username and parts.scheme.lower() in ("http", "https")))


class SyncSettings(Section):
    """When sources are read, and retried after failures."""

    timezone: Annotated[str, _read_by(schedules.zone_of)] = Field(
        "", description="Time zone of cron lines, such as `Europe/Berlin`; empty = that of the machine."
    )
    jitter_s: float = Field(30, ge=0, description="Maximum random delay of scheduled runs, in seconds.")
    retry_first_s: float = Field(60, gt=0, description="Delay of the first retry after a failure, in seconds.")
    retry_longest_s: float = Field(
        86_400, gt=0, description="Maximum delay of retries, which doubles each time, in seconds."
    )


class WatchSettings(Section):
    """How folders are watched for changes."""

    settle_ms: float = Field(
        300, ge=0, description="A changed file is read after it has been unchanged for this long, in ms."
    )
    polling: Literal["auto", "always", "never"] = Field(
        "auto", description="Poll for changes; auto = only if the file system does not report them."
    )
    poll_s: float = Field(5, gt=0, description="Polling interval in seconds; longer if polling takes long.")


class KnowledgeBaseSettings(Section):
    """A folder that is watched without being added as a source."""

    enabled: bool = Field(False, description="Watch the folder.")
    folder: Path = Field(Path("knowledge_base"), description="The folder; relative paths start at the home.")
    collection: str = Field("", description="Collection of its documents; empty = the setting `collection`.")
    max_file_bytes: int = Field(10_485_760, ge=1, description="Larger files are skipped, in bytes.")
    include: tuple[str, ...] = Field((), description="Globs of paths to read; empty = all readable files.")
    exclude: tuple[str, ...] = Field((), description="Globs of paths to exclude.")
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
        """Return the absolute path of the folder."""
        return whole_path(str(self.folder), home.expanduser())
