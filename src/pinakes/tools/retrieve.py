"""Tools that search chunks, read documents and list contents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field

from pinakes.core.errors import InvalidInput, NotFound
from pinakes.core.graph_paths import Expansion
from pinakes.core.records import JSON, Results
from pinakes.core.records import Blame as Lines
from pinakes.core.wording import counted
from pinakes.library import Library
from pinakes.schemas.hit_text import heading, quoted, with_blame
from pinakes.schemas.hits import hit_data
from pinakes.services.collections.status import CollectionStatus
from pinakes.services.documents.reading import Text
from pinakes.text.file_lines import FileLines
from pinakes.text.injection import WARNING, is_injection
from pinakes.text.quoting import Quoting, one_line
from pinakes.tools.declare import as_json, object_from, tool
from pinakes.tools.exactness import exactness
from pinakes.tools.graph_pages import longest
from pinakes.tools.parameters import Collection, Searched, collection_from
from pinakes.tools.place import read_place

_REST = "narrow it with path, filters or other words, or read a document at its lines"

MAX_READ_CHARS = 20_000
"""A longer text is cut after a line, or within one that is longer; the answer says how to go on."""

_SHORTER = 0.8

AsOf = Annotated[
    str,
    Field(description="As it was on this day (2026-01-31), at a time (UTC), tag, commit or 2d ago; empty = now."),
]
Blame = Annotated[bool, Field(description="Also who wrote the lines, when, in which commit, where git knows it.")]


@dataclass(frozen=True, slots=True)
class SearchAnswer:
    """The chunks found."""

    results: Results
    left_out: int = 0
    """Chunks that were found, too, but had no room."""

    def within(self, fits: Callable[[str], bool]) -> SearchAnswer:
        """Return the answer with as many of its chunks as fit, one at least."""
        if fits(self.as_text()):
            return self
        return longest(self, len(self.results.hits) - 1, self._first, fits)

    def _first(self, number: int) -> SearchAnswer:
        hits = self.results.hits
        return SearchAnswer(replace(self.results, hits=hits[:number]), len(hits) - number)

    def as_text(self) -> str:
        results = self.results
        head = [f"{len(results.hits)} of {results.total_candidates} chunks in {results.collection!r}, best first."]
        if results.degraded:
            head.append(f"Note: {results.degraded}.")
        head += [f"Note: {note}." for note in results.notes]
        if any(hit.approximate for hit in results.hits):
            head.append("Scores with ~ are approximate: these chunks are not embedded yet.")
        if results.hits and results.doubtful:
            head.append(f"Perhaps none of them answers the question (answerable {results.answerable:.2f}).")
        if not results.hits:
            return " ".join([*head, "Try other words or fewer filters."])
        if self.left_out:
            head.append(f"{self.left_out} more were left out: {_REST}.")
        fence = Quoting()
        blocks = [
            heading(i, hit, several=results.several) + "\n" + quoted(fence, hit)
            for i, hit in enumerate(results.hits, start=1)
        ]
        return "\n\n".join([" ".join([*head, fence.notice()]), *blocks])

    def as_data(self) -> dict[str, JSON]:
        results = self.results
        data = {
            "query": results.query,
            "collection": results.collection,
            "mode": results.mode,
            "fusion": results.fusion,
            "total_candidates": results.total_candidates,
            "total_found": results.total_found,
            "passages": [hit_data(hit, several=results.several) for hit in results.hits],
        }
        if results.degraded:
            data["degraded"] = results.degraded
        if self.left_out:
            data |= {"truncated": True, "next": f"{self.left_out} chunks were left out: {_REST}."}
        if results.answerable is not None:
            data["answerable"] = round(results.answerable, 4)
        return data | ({"notes": list(results.notes)} if results.notes else {})


@dataclass(frozen=True, slots=True)
class ReadAnswer:
    """A document or some lines of it; ``start_char`` counts from the beginning of its first line.

    ``start`` is where ``shown`` begins in ``text``. ``go_on`` are the arguments that read what comes next, None where
    all is shown.
    """

    collection: str
    text: Text
    lines: FileLines
    shown: str
    start: int
    go_on: Mapping[str, int | str] | None
    link: str = ""
    blame: tuple[Lines, ...] = ()
    unknown: str = ""
    again: Mapping[str, int | str] = field(default_factory=dict)
    """The arguments that also hold for what comes next."""

    def within(self, fits: Callable[[str], bool]) -> ReadAnswer:
        """Return the answer with as much of the text as fits, up to the end of a line where there is one."""
        answer, size = self, len(self.shown)
        while size and not fits(answer.as_text()):
            size = min(size - 1, int(size * _SHORTER))
            answer = self._first(size)
        return answer

    def _first(self, size: int) -> ReadAnswer:
        newline = self.shown.rfind("\n", 0, size)
        shown = self.shown[: newline if newline > 0 else size]
        line, char = self._place(self.start + (newline + 1 if newline > 0 else size))
        end = {"end_line": self.text.end_line} if self.text.end_line < self.text.total_lines else {}
        go_on = {"start_line": line, **end, **({"start_char": char} if char else {}), **self.again}
        last = self._place(self.start + len(shown))[0]
        blame = tuple(one for one in self.blame if one.start_line <= last)
        return replace(self, shown=shown, go_on=go_on, blame=blame)

    def as_text(self) -> str:
        document, fence = self.text.document, Quoting()
        lines = f"lines {self.start_line}-{self._end_line} of {self.text.total_lines}"
        lines += f", from character {self.start_char}" if self.start_char else ""
        head = f"{one_line(document.path)} · {one_line(document.title)} · {lines}. {fence.notice()}"
        head += f" This text is suspicious: {WARNING}." if self._suspicious else ""
        again = ", ".join(f"{name}={value}" for name, value in (self.go_on or {}).items())
        more = f"\nThere is more: read again with {again}." if again else ""
        head += f" Link: {one_line(self.link, 500)}." if self.link else ""
        head += f" It is not known who wrote these lines: {self.unknown}." if self.unknown else ""
        return f"{head}\n{with_blame(fence, self.shown, self.blame)}{more}"

    def as_data(self) -> dict[str, JSON]:
        document = self.text.document
        data = {
            "collection": self.collection,
            "document_id": document.uid,
            "path": document.path,
            "uri": document.uri,
            "title": document.title,
            "metadata": dict(document.metadata),
            "start_line": self.start_line,
            "start_char": self.start_char,
            "end_line": self._end_line,
            "total_lines": self.text.total_lines,
            "cut": self.go_on is not None,
            "text": self.shown,
        }
        data |= {"suspicious": True} if self._suspicious else {}
        data |= {"link": self.link} if self.link else {}
        data |= {"blame": [asdict(one) for one in self.blame]} if self.blame else {}
        data |= {"notes": [f"it is not known who wrote these lines: {self.unknown}"]} if self.unknown else {}
        if self.go_on is None:
            return data
        again = "".join(f",{name}={as_json(value)}" for name, value in self.go_on.items())
        how = f"read(document={as_json(document.uid)}{again})"
        return data | {"go_on": dict(self.go_on), "truncated": True, "next": how}

    @property
    def _suspicious(self) -> bool:
        return is_injection(f"{self.text.document.title}\n{self.shown}")

    def _place(self, offset: int) -> tuple[int, int]:
        return self.lines.place(offset)

    @property
    def start_line(self) -> int:
        """The line of the file that ``shown`` begins in."""
        return self._place(self.start)[0]

    @property
    def start_char(self) -> int:
        """How many characters of that line stand before it."""
        return self._place(self.start)[1]

    @property
    def _end_line(self) -> int:
        return min(self._place(self.start + len(self.shown))[0], self.text.end_line)


@dataclass(frozen=True, slots=True)
class StatusAnswer:
    """What each collection holds."""

    collections: tuple[CollectionStatus, ...]
    note: str = ""

    def as_text(self) -> str:
        lines = [_collection_line(status) for status in self.collections]
        return "\n".join([*lines, *([f"Note: {self.note}."] if self.note else [])])

    def as_data(self) -> dict[str, JSON]:
        data: dict[str, JSON] = {"collections": [_collection_data(status) for status in self.collections]}
        return data | ({"notes": [self.note]} if self.note else {})


@tool(toolset="search")
def search(
    library: Library,
    query: Annotated[str, Field(description="A question in plain words, or exact names and terms.", min_length=1)],
    top_k: Annotated[int, Field(description="How many chunks.", ge=1)] = 5,
    collection: Searched = "",
    mode: Annotated[
        Literal["default", "hybrid", "vector", "keyword", "auto"],
        Field(description="keyword for exact identifiers, vector for meaning alone, auto chooses; leave it for most."),
    ] = "default",
    path: Annotated[str, Field(description="Only paths like this: `docs/**`, `*.py`.")] = "",
    filters: Annotated[
        dict[str, Any],
        BeforeValidator(object_from),
        Field(description='Metadata that must match: {"status": "beta"}, {"year": {"gte": 2020}}.'),
    ] = {},  # noqa: B006 - pydantic copies it
    neighbours: Annotated[int, Field(description="Also so many chunks before and after each.", ge=0, le=3)] = 0,
    as_of: AsOf = "",
    refresh: Annotated[
        Literal["never", "auto"], Field(description="auto = first read files of the answer again that changed.")
    ] = "never",
    blame: Blame = False,
    phrases: Annotated[
        Literal["auto", "required", "preferred"],
        Field(description='What "quotation marks" mean: chunks must have the phrase, or come first with it.'),
    ] = "auto",
    expand: Annotated[
        Literal["default", "0", "1", "2"],
        BeforeValidator(str),
        Field(description="Also chunks that are so many relations of the knowledge graph away from what is named."),
    ] = "default",
    relation_types: Annotated[
        list[str], Field(description="expand: only by these types of relations; none = all.")
    ] = [],  # noqa: B006 - pydantic copies it
) -> SearchAnswer:
    """Find the chunks that answer a question, with path, lines and score.

    Use `read` with a path and lines from the answer to see more around a chunk."""
    where = dict(filters)
    if path and "path" in where:
        raise InvalidInput("The path is given twice, as path and in filters.", hint="Give one of the two.")
    if path:
        where["path"] = {"glob": path}
    return SearchAnswer(
        library.search(
            query,
            collection_from(library, collection),
            mode=None if mode == "default" else mode,
            top_k=top_k,
            filters=where,
            neighbours=neighbours,
            as_of=as_of or None,
            refresh=refresh,
            blame=blame,
            phrases=phrases,
            expand=Expansion(None if expand == "default" else int(expand), tuple(relation_types)),
        )
    )


@tool(toolset="search")
def read(
    library: Library,
    document: Annotated[str, Field(description="Path, uri or id as `search` shows it, or path:10-40.", min_length=1)],
    collection: Collection = "",
    start_line: Annotated[int, Field(description="First line; 0 = from the beginning.", ge=0)] = 0,
    end_line: Annotated[int, Field(description="Last line; 0 = to the end.", ge=0)] = 0,
    start_char: Annotated[int, Field(description="Skip so many characters of the first line and on.", ge=0)] = 0,
    as_of: AsOf = "",
    version: Annotated[int, Field(description="As it was in this version; 0 = now.", ge=0)] = 0,
    blame: Blame = False,
) -> ReadAnswer:
    """Read a document, or some lines of it."""
    lines = (start_line or 1, end_line or 10**9) if start_line or end_line else None
    text = read_place(
        library, document, collection_from(library, collection), lines, version=version or None, as_of=as_of or None
    )
    if start_char > len(text.text):
        raise NotFound(
            f"These lines have no character {start_char}.", hint=f"They have {len(text.text)}, counted from 0."
        )
    file_lines = FileLines(text.text, text.numbers, text.start_line)
    stop, following = _cut(text.text, start_char)
    go_on: dict[str, int | str] | None = None
    again: dict[str, int | str] = {"version": version} if version else {"as_of": as_of} if as_of else {}
    if following < len(text.text):
        line, char = file_lines.place(following)
        go_on = {"start_line": line}
        go_on |= {"end_line": text.end_line} if text.end_line < text.total_lines else {}
        go_on |= {"start_char": char} if char else {}
        go_on |= again
    told, reason = library.blames.of_text(text) if blame else ((), "")
    shown = text.text[start_char:stop]
    name = library.collection_of(text.document)
    return ReadAnswer(name, text, file_lines, shown, start_char, go_on, library.link(text), told, reason, again)


@tool(toolset="search")
def status(library: Library, collection: Collection = "") -> StatusAnswer:
    """List the collections: what is in them, where from, and whether all of it is indexed."""
    return StatusAnswer(tuple(library.status(collection_from(library, collection))), library.naming.none_yet())


def _cut(text: str, start: int) -> tuple[int, int]:
    """Return where an answer that begins at ``start`` ends, and where the next one begins."""
    most = start + MAX_READ_CHARS
    if len(text) <= most:
        return len(text), len(text)
    newline = text.rfind("\n", start, most)
    return (newline, newline + 1) if newline > start else (most, most)


def _collection_data(status: CollectionStatus) -> dict[str, JSON]:
    data = asdict(status)
    problems = data.pop("problems")
    data |= {"sources": list(status.sources), "index": dict(status.index), "problems": len(problems)}
    return data | {"exact_share": status.exact_share}


def _collection_line(status: CollectionStatus) -> str:
    line = f"{status.name}: {counted(status.documents, 'document')}, {counted(status.chunks, 'chunk')}"
    if status.pending:
        line += f", vectors {exactness(status)}"
    if status.problems:
        line += f", {counted(len(status.problems), 'file')} not indexed"
    sources = ", ".join(str(source["location"]) for source in status.sources)
    about = f" {one_line(status.description)}" if status.description else ""
    return f"{line}.{about}" + (f" From {one_line(sources, 500)}." if sources else "")
