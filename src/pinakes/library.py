"""The library: what a user of Pinakes holds. Short methods; the work is done by the flows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Protocol

from rapidfuzz import process

from pinakes import ingest, search
from pinakes import settings as settings_module
from pinakes.catalog import collections, documents, sources
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.documents import DocumentRecord
from pinakes.catalog.sources import SourceRecord
from pinakes.errors import IndexCorrupt, InvalidInput, NotFound, PinakesError
from pinakes.filters import parse
from pinakes.follow import Difference
from pinakes.ingest import Event, Report
from pinakes.ports import Index
from pinakes.settings import SearchSettings, Settings, SourceSettings
from pinakes.shelves import Shelves, settings_of
from pinakes.sources import read_at, recognise
from pinakes.types import JSON, Filter, Results, SearchMode


class OnEvent(Protocol):
    """Something that wants to know how far a long run is."""

    def __call__(self, event: Event, /) -> object: ...


@dataclass(frozen=True, slots=True)
class Text:
    """A document's text, or a range of its lines (counted from 1, ends included)."""

    document: DocumentRecord
    text: str
    start_line: int
    end_line: int
    total_lines: int


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    """What a collection holds, where it comes from, and how far its vectors and index are.

    ``pending`` chunks have no vector by the model yet, ``approximate`` of them an approximate one, the others none.
    """

    name: str
    description: str
    documents: int
    groups: int
    chunks: int
    tokens: int
    pending: int
    approximate: int
    model: str
    sources: tuple[dict[str, JSON], ...]
    problems: tuple[dict[str, JSON], ...]
    index: Mapping[str, JSON]

    @property
    def exact(self) -> int:
        """How many chunks have the model's own vector."""
        return self.chunks - self.pending

    @property
    def waiting(self) -> int:
        """How many chunks have no vector at all, not even an approximate one: they are found by words only."""
        return self.pending - self.approximate

    @property
    def exact_share(self) -> float:
        """The share of the chunks that is exact, 0 to 1, rounded down: 1 only when all are, or there are none."""
        return self.exact * 10_000 // self.chunks / 10_000 if self.chunks else 1.0


class Library:
    """A home folder with its collections: add, search, read, verify. Safe to share between threads."""

    def __init__(self, settings: Settings) -> None:
        """Open the catalogue; models and indexes are opened when first needed."""
        self.settings = settings
        self.shelves = Shelves(settings)

    @classmethod
    def open(cls, home: Path | str | None = None, *, profile: str | None = None, **settings: Any) -> Library:
        """Open ``home``; ``settings`` are dotted names with ``__`` for the dot: ``search__top_k=5``.

        Raises:
            InvalidSetting: an unknown setting or an impossible value.
            StorageFull: the home cannot be written.
        """
        return cls(settings_module.load(home=home, profile=profile, **settings))

    def add(
        self,
        location: str,
        collection: str | None = None,
        *,
        ref: str | None = None,
        include: Sequence[str] = (),
        exclude: Sequence[str] = (),
        on_event: OnEvent | None = None,
    ) -> Report:
        """Read a folder, file or git repository into a collection; what is unchanged is skipped.

        Without ``include`` and ``exclude`` those of the settings hold, else those given the last time; without
        ``ref`` that of the settings does.

        Raises:
            NotFound, InvalidInput, SourceError: the location cannot be used.
            ModelMismatch: the collection was embedded by another model.
        """
        name = collection or self.settings.collection
        source = recognise(location, ref)
        given = {"include": tuple(include), "exclude": tuple(exclude)}
        if not include and not exclude:
            given = _usual_globs(self.shelves, name, source)
        source = source.model_copy(update={**given, "ref": ref or _usual_ref(self.settings, name, source)})
        return self._ingest(name, source, on_event)

    def sync(self, collection: str | None = None, on_event: OnEvent | None = None) -> list[Report]:
        """Read every source of a collection, or of all, again: those it has, and those the settings name.

        What the settings say of a source (``ref``, ``include``, ``exclude``) wins over what was given with it. A
        collection that was filled from other places only, such as a copy, is not filled from the configured ones.
        A source that cannot be read has its ``error`` in its report; the others are read all the same.

        Raises:
            NotFound: there is no such collection.
        """
        wanted = [*_known_sources(self.shelves, collection), *_configured_sources(self.shelves, collection)]
        once = {(name, *_place(source)): source for name, source in wanted}
        return [self._attempt(name, source, on_event) for (name, _, _), source in once.items()]

    def search(
        self,
        query: str,
        collection: str | None = None,
        *,
        mode: SearchMode | None = None,
        top_k: int | None = None,
        filters: Mapping[str, JSON] | Filter | None = None,
        fusion: str | None = None,
        min_score: float = 0.0,
    ) -> Results:
        """Answer ``query`` with the best passages of a collection, that of ``chosen`` when none is named.

        Raises:
            InvalidInput: an unknown mode or fusion, a filter that cannot be used, or a ``top_k`` below 1 or above
                ``search.max_top_k``.
            NotFound: there is no such collection.
            ModelUnavailable: mode "vector" without a model; "hybrid" answers by keywords and says so.
            ModelMismatch: the collection was embedded by another model.
        """
        name = self.chosen(collection)
        request = _request(self.settings, name, query, mode, top_k, filters, fusion, min_score)
        with self.shelves.traffic.search():
            return _answer(self.shelves, name, request)

    def read(self, reference: str, collection: str | None = None, lines: tuple[int, int] | None = None) -> Text:
        """Return a document named by id, uri, path or the end of its path, whole or some lines of it.

        It is looked for in one collection, that of ``chosen`` when none is named.

        Raises:
            NotFound: nothing goes by that name, or it has no such lines.
            InvalidInput: several documents go by that name.
        """
        record = self.collection(collection)
        with self.shelves.catalog.read() as connection:
            found = documents.find(connection, record.id, reference)
            paths = [] if found else documents.paths(connection, record.id)
            document = _only(found, reference, paths)
            return _cut(document, documents.text(connection, document.id), lines)

    def status(self, collection: str | None = None) -> list[CollectionStatus]:
        """Return what each collection (or one) holds, where it comes from and how far it is indexed."""
        return [_status(self.shelves, record) for record in self.collections(collection)]

    def verify(self, collection: str | None = None) -> dict[str, list[Difference]]:
        """Compare each index with the catalogue: collection → differences, none when all is well."""
        return {record.name: self.shelves.compare(record.name) for record in self.collections(collection)}

    def reindex(self, collection: str | None = None, *, embed: bool = False, on_event: OnEvent | None = None) -> None:
        """Build indexes anew from the catalogue; nothing is embedded again.

        ``embed`` makes the configured model that of the collections, and embeds what has no vector by it.
        """
        for record in self.collections(collection):
            if embed:
                ingest.bind(self.shelves.catalog, record, self.shelves.embedder)
            _drain(self.shelves.rebuild(self.collection(record.name)), on_event)
            if embed:
                self.embed_pending(record.name, on_event)

    def embed_pending(self, collection: str | None = None, on_event: OnEvent | None = None) -> None:
        """Embed what waits for a vector.

        Raises:
            ModelUnavailable: there still is no model.
        """
        for record in self.collections(collection):
            self.shelves.check_model(record)
            _drain(self.shelves.embed_waiting(record.name, wait=True), on_event)

    def collections(self, name: str | None = None) -> list[CollectionRecord]:
        """Return the records of all collections, or of one.

        Raises:
            NotFound: there is none of that name.
        """
        with self.shelves.catalog.read() as connection:
            return [collections.get(connection, name)] if name else collections.everything(connection)

    def collection(self, name: str | None = None) -> CollectionRecord:
        """Return the record of one collection, that of ``chosen`` when no name is given.

        Raises:
            NotFound: there is none of that name.
        """
        return self.collections(self.chosen(name))[0]

    def chosen(self, name: str | None = None) -> str:
        """Return ``name``; without one the default collection, or where that does not exist the only one there is."""
        default = self.settings.collection
        if name or default in self.settings.collections:
            return name or default
        names = [record.name for record in self.collections()]
        return names[0] if len(names) == 1 else default

    def unread(self) -> list[str]:
        """Return the configured collections whose sources were not all read to the end yet, as they are configured."""
        known = _everything_known(self.shelves)
        read = {(name, settings_of(kept)) for name, every in known.items() for kept in every if kept.state is not None}
        wanted = [*_known_sources(self.shelves, None), *_configured_sources(self.shelves, None)]
        once = {(name, *_place(source)): (name, source) for name, source in wanted}
        unread = {name for name, source in once.values() if (name, source) not in read}
        return [name for name, rules in self.settings.collections.items() if rules.sources and name in unread]

    def close(self) -> None:
        """Save and release everything."""
        self.shelves.close()

    def __enter__(self) -> Library:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _attempt(self, name: str, source: SourceSettings, on_event: OnEvent | None) -> Report:
        try:
            return self._ingest(name, source, on_event)
        except PinakesError as error:
            return Report(name, source.location, error=error)

    def _ingest(self, name: str, source: SourceSettings, on_event: OnEvent | None) -> Report:
        with self.shelves.alone(name, source, on_event):
            run = self.shelves.ingest(*self.shelves.remember(name, source))
            _drain(run.run(), on_event)
        return run.report


def _drain(events: Iterator[Event], on_event: OnEvent | None) -> None:
    """Run a flow to its end, passing its events on."""
    for event in events:
        if on_event is not None:
            on_event(event)


def _usual_globs(shelves: Shelves, name: str, source: SourceSettings) -> dict[str, tuple[str, ...]]:
    """Return include and exclude as they are configured, else as they were when the source was last added.

    Those of the collection's first configured source fit any copy of it.
    """
    with shelves.catalog.read() as connection:
        record = collections.find(connection, name)
        kept = sources.everything(connection, record.id) if record else []
    configured = shelves.settings.of_collection(name).sources
    same = [one for one in (*configured, *map(settings_of, kept)) if _place(one) == _place(source)]
    for one in [*same, *configured]:
        return {"include": one.include, "exclude": one.exclude}
    return {"include": (), "exclude": ()}


def _usual_ref(settings: Settings, name: str, source: SourceSettings) -> str | None:
    return next((one.ref for one in settings.of_collection(name).sources if _place(one) == _place(source)), None)


def _configured_sources(shelves: Shelves, collection: str | None) -> list[tuple[str, SourceSettings]]:
    """Return the sources of the settings, less those of collections that were filled from other places only."""
    known = {name: {_place(kept) for kept in every} for name, every in _everything_known(shelves).items()}
    return [
        (name, source)
        for name, rules in shelves.settings.collections.items()
        if collection in (None, name)
        and (not known.get(name) or known[name] & {_place(source) for source in rules.sources})
        for source in rules.sources
    ]


def _everything_known(shelves: Shelves) -> dict[str, list[SourceRecord]]:
    with shelves.catalog.read() as connection:
        return {record.name: sources.everything(connection, record.id) for record in collections.everything(connection)}


def _place(source: SourceSettings | SourceRecord) -> tuple[str, str]:
    return source.kind, source.location


def _known_sources(shelves: Shelves, collection: str | None) -> list[tuple[str, SourceSettings]]:
    with shelves.catalog.read() as connection:
        chosen = collections.everything(connection)
        if collection is not None and collection not in shelves.settings.collections:
            chosen = [collections.get(connection, collection)]
        return [
            (record.name, settings_of(kept))
            for record in chosen
            if collection in (None, record.name)
            for kept in sources.everything(connection, record.id)
        ]


def _request(
    settings: Settings,
    name: str,
    query: str,
    mode: SearchMode | None,
    top_k: int | None,
    filters: Mapping[str, JSON] | Filter | None,
    fusion: str | None,
    min_score: float,
) -> search.Request:
    """Fill what the caller left open with the settings' defaults."""
    defaults = settings.search
    return search.Request(
        query=query,
        mode=mode or settings.of_collection(name).retrieval,
        top_k=_allowed(top_k, defaults),
        where=filters if isinstance(filters, tuple) else parse(filters),
        fusion=fusion or defaults.fusion,
        semantic_weight=defaults.semantic_weight,
        keyword_weight=defaults.keyword_weight,
        min_score=min_score,
    )


def _allowed(top_k: int | None, limits: SearchSettings) -> int:
    if top_k is None:
        return min(limits.top_k, limits.max_top_k)
    if top_k > limits.max_top_k:
        raise InvalidInput(f"top_k cannot be {top_k}.", hint=f"At most {limits.max_top_k}.")
    return top_k


def _answer(shelves: Shelves, name: str, request: search.Request) -> Results:
    watch = search.Watch()
    with watch.stage("follow"):
        record, index = shelves.index(name, wait=False)
    if request.mode != "keyword":
        shelves.check_model(record)
    answer = partial(
        search.search,
        request,
        catalog=shelves.catalog,
        vectors=shelves.query_vectors,
        refiner=shelves.refiner,
        settings=shelves.settings.search,
        totals=shelves.totals,
        watch=watch,
    )
    try:
        return answer(collection=record, index=index)
    except IndexCorrupt as error:
        with watch.stage("mend"):
            record, index = shelves.mend(record, error)
        return answer(collection=record, index=index)


def _only(found: Sequence[DocumentRecord], reference: str, paths: Sequence[str]) -> DocumentRecord:
    if len(found) == 1:
        return found[0]
    if not found:
        near = [path for path, _, _ in process.extract(reference, paths, limit=3, score_cutoff=60)]
        hint = f"Did you mean {' or '.join(near)}?" if near else "`pinakes search` shows paths and ids."
        raise NotFound(f"There is no document {reference!r}.", hint=hint)
    names = ", ".join(document.path for document in found[:5])
    raise InvalidInput(f"{len(found)} documents go by {reference!r}.", hint=f"Name one of them: {names}.")


def _cut(document: DocumentRecord, text: str, lines: tuple[int, int] | None) -> Text:
    parts = text.split("\n")
    total = len(parts) - (text.endswith("\n"))
    first, last = lines or (1, len(parts))
    if not 1 <= first <= last or first > total:
        raise NotFound(f"{document.path} has no lines {first} to {last}.", hint=f"It has {total} lines from 1.")
    return Text(document, "\n".join(parts[first - 1 : last]), first, min(last, total), total)


def _status(shelves: Shelves, record: CollectionRecord) -> CollectionStatus:
    _, index = shelves.index(record.name, wait=False)
    with shelves.catalog.read() as connection:
        counts = collections.count(connection, record)
        known = sources.everything(connection, record.id)
        files = [sources.counts(connection, source.id) for source in known]
        problems = sources.problems(connection, record.id)
    return CollectionStatus(
        name=record.name,
        description=record.description,
        documents=counts.documents,
        groups=counts.groups,
        chunks=counts.chunks,
        tokens=counts.tokens,
        pending=counts.pending,
        approximate=_approximate(counts, index),
        model=record.fingerprint,
        sources=tuple(_source(kept, count) for kept, count in zip(known, files, strict=True)),
        problems=tuple({"path": p.path, "status": p.status, "reason": p.reason} for p in problems),
        index=index.describe(),
    )


def _approximate(counts: collections.Counts, index: Index) -> int:
    """Return how many chunks have an approximate vector; the index may be a moment behind the catalogue."""
    held = index.describe()
    vectors = int(held.get("vectors", 0))
    return min(counts.pending, vectors - int(held.get("exact_vectors", vectors)))


def _source(kept: SourceRecord, files: Mapping[str, int]) -> dict[str, JSON]:
    """Return a source as a status shows it: ``ref`` and ``commit`` of a git source are None while it was not read."""
    wanted = settings_of(kept)
    ref, commit = read_at(kept.kind, kept.state)
    return {
        "kind": kept.kind,
        "location": kept.location,
        "ref": wanted.ref or ref,
        "commit": commit,
        "include": list(wanted.include),
        "exclude": list(wanted.exclude),
        "synced_at": kept.synced_at,
        "error": kept.error,
        "files": dict(files),
    }
