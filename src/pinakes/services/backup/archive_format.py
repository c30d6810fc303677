"""What stands in the archive of a collection: its members, and the fields of their lines.

Whatever is read from an archive passes these models, so that no line of a foreign file reaches the catalogue unchecked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, TypeAdapter, ValidationError, model_validator

from pinakes.core.graph_records import MAX_NAME_CHARS
from pinakes.core.records import DocumentKind
from pinakes.platform.archives import Kind
from pinakes.settings.sources import has_login

DOCUMENTS, SOURCES, FILES, VERSIONS = "documents.jsonl", "sources.jsonl", "files.jsonl", "versions.jsonl"
VECTORS, KEYS = "vectors.npy", "vectors.keys"
KIND = Kind(
    "pinakes-collection",
    2,
    "archive of a collection",
    frozenset((DOCUMENTS, SOURCES, FILES, VERSIONS, VECTORS, KEYS)).__contains__,
)

_MOST = 2**40
"""More than any honest number, and so few that SQLite can add up those of a collection, and count on from one."""

_YEARS = range(2, 9999)
"""Times in other years cannot be told in every zone."""


def _is_time(text: str) -> str:
    """Let a time pass that tells its zone."""
    moment = datetime.fromisoformat(text)
    if moment.tzinfo is None:
        raise ValueError("a time has to tell its zone")
    if moment.year not in _YEARS:
        raise ValueError(f"no time is in the year {moment.year}")
    return text


def _is_bare(location: str) -> str:
    """Let a location pass that carries no login, which all who list sources would see."""
    if has_login(location):
        raise ValueError("a URL has a login in it")
    return location


def _is_json(values: dict[str, Any]) -> dict[str, Any]:
    """Let values pass that JSON can tell: not such as NaN."""
    json.dumps(values, allow_nan=False)
    return values


_Number = Annotated[int, Field(ge=0, le=_MOST)]
_Version = Annotated[int, Field(ge=1, le=_MOST)]
_Time = Annotated[str, AfterValidator(_is_time)]
_Table = Annotated[dict[str, Any], AfterValidator(_is_json)]


class _Line(BaseModel):
    """A line: exactly these fields, of exactly these types."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ChunkLine(_Line):
    """A chunk: ``text[start:end]`` of its document, offsets in characters. Lines count from 1, ends included.

    ``key`` names its vector: the first 16 bytes of the SHA-256 of ``header``, a newline and the text, or of the text
    where there is no header, in hexadecimal digits.
    """

    start: _Number
    end: _Number
    start_line: _Number
    end_line: _Number
    token_count: _Number
    header: str
    heading_path: list[str]
    symbols: list[str]
    key: str


class NoteLine(_Line):
    """What a reader dropped, doubted or masked: see ``types.ReadingNote``."""

    code: str
    message: str
    line: _Number | None = None
    count: _Number = 1


class DocumentLine(_Line):
    """A document. ``source`` is the number of the line of its source, from 0; None where it was put by itself.

    ``inherited`` is what its group gives it, ``given`` what of ``metadata`` callers put over that of a file.
    """

    uid: Annotated[str, Field(min_length=1, max_length=200)]
    source: _Number | None
    uri: str
    path: str
    title: str
    kind: DocumentKind
    language: str | None
    text: str
    metadata: _Table
    inherited: _Table
    given: _Table | None
    group_key: str
    content_hash: str
    summary: str
    summary_by: Literal["", "given", "chat", "extractive"]
    pages: list[_Number] | None
    notes: list[NoteLine] | None = None
    lines: list[_Number] | None = None
    reader: str = ""
    chunker: str = ""
    token_count: _Number | None = None
    version: _Version
    created_at: _Time
    updated_at: _Time
    chunks: list[ChunkLine]

    @model_validator(mode="after")
    def _fits(self) -> DocumentLine:
        """Refuse chunks that do not lie in the text."""
        if any(not 0 <= one.start <= one.end <= len(self.text) for one in self.chunks):
            raise ValueError("a chunk does not lie in the text")
        return self


class SourceLine(_Line):
    """Where documents come from, with what decides how it is read."""

    kind: str
    location: Annotated[str, AfterValidator(_is_bare)]
    part: str = ""
    options: _Table
    synced_at: _Time | None


class ArchivedFile(_Line):
    """What was known of a file of a source; ``document`` is the uid of the one it gave.

    Archives from before there were codes have none: a file that was skipped is read again then.
    """

    source: _Number
    path: str
    fingerprint: str
    content_hash: str | None
    status: Literal["indexed", "skipped", "error"]
    reason: str | None
    code: str | None = None
    document: str | None

    @model_validator(mode="after")
    def _is_read_again(self) -> ArchivedFile:
        if self.status == "skipped" and self.content_hash and not self.code:
            self.fingerprint = ""
        return self


class VersionLine(_Line):
    """A version of a document, also of one that is gone. See ``catalog.history`` for what stands where."""

    uid: Annotated[str, Field(min_length=1, max_length=200)]
    source: _Number | None
    number: _Version
    op: Literal["created", "updated", "moved", "deleted", "restored"]
    at: _Time
    by: str
    changed: list[str]
    content_hash: str
    until: _Time | None
    title: str | None
    uri: str | None
    path: str | None
    kind: str | None
    language: str | None
    group_key: str | None
    metadata: _Table | None
    given: _Table | None
    summary: str | None
    summary_by: str | None
    text: str | None


class ArchivedModel(_Line):
    """The model of the vectors: ``settings`` as ``collection_models.recorded`` has them, less paths of one machine."""

    fingerprint: Annotated[str, Field(min_length=1)]
    dimension: Annotated[int, Field(ge=1, le=100_000)]
    settings: _Table


class ArchiveCounts(_Line):
    """How much is in an archive."""

    documents: _Number = 0
    chunks: _Number = 0
    vectors: _Number = 0
    sources: _Number = 0
    files: _Number = 0
    versions: _Number = 0


class ArchivedDecision(_Line):
    """What somebody decided about two names of the knowledge graph; see ``catalog.entities.Decision``."""

    kind: Literal["merge", "split"]
    type: str = Field(max_length=64)
    name: str = Field(min_length=1, max_length=MAX_NAME_CHARS)
    other: str = Field(min_length=1, max_length=MAX_NAME_CHARS)
    other_type: str = Field(max_length=64)


class ArchivedCollection(_Line):
    """What the manifest says of the collection. ``decisions``: on names of its graph, oldest first.

    ``graph``: the rules of its graph, with the names of its lists.
    """

    name: str
    description: str
    settings: _Table
    history: bool
    model: ArchivedModel | None
    counts: ArchiveCounts
    decisions: list[ArchivedDecision] = []
    graph: _Table | None = None


_OF_MEMBER: Mapping[str, TypeAdapter[Any]] = {
    DOCUMENTS: TypeAdapter(DocumentLine),
    SOURCES: TypeAdapter(SourceLine),
    FILES: TypeAdapter(ArchivedFile),
    VERSIONS: TypeAdapter(VersionLine),
}


def line_of(member: str, line: bytes) -> Any:
    """Return a line of a member as its model.

    Raises:
        ValueError: it is none; in words.
    """
    try:
        return _OF_MEMBER[member].validate_json(line)
    except ValidationError as error:
        raise ValueError(validation_message(error)) from error


def validation_message(error: ValidationError) -> str:
    """Return what is wrong with the first thing that is, in words."""
    first = error.errors(include_url=False, include_input=False)[0]
    where = ".".join(str(part) for part in first["loc"])
    return f"{where}: {first['msg']}" if where else str(first["msg"])
