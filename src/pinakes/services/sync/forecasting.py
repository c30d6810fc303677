"""The forecast of a run: files by what becomes of them, and from a sample its tokens, time and costs.

Nothing is written. The source is looked through as a run does it, so a repository may be fetched for that; a sample of
what is new is read and cut by the same readers, and a few of its chunks are embedded where the model runs here.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import PurePosixPath

from pinakes import parsing
from pinakes.app import App, source_settings
from pinakes.app.source_overlaps import others_of
from pinakes.app.spending import dollars
from pinakes.catalog import collections, embeddings, sources
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.documents import embedding_key
from pinakes.catalog.shared_files import HELD
from pinakes.catalog.sources import FileRecord
from pinakes.core.errors import InvalidInput, ModelUnavailable, PinakesError
from pinakes.core.generators import result_of
from pinakes.core.ports import Embedder, Lookable, Remote, Source
from pinakes.core.records import JSON, Chunk, Item, Scan, Skipped
from pinakes.ingestion.file_changes import vanished_files
from pinakes.ingestion.report import Event
from pinakes.ingestion.rereading import Rereading
from pinakes.ingestion.run_tools import FileParser, Tools
from pinakes.ingestion.scan import check_place, scanned
from pinakes.ingestion.shared_files import held_by_others
from pinakes.parsing.pool import WORTH_BYTES
from pinakes.services import ingestion_runs
from pinakes.services.sync import adding
from pinakes.settings import SourceSettings
from pinakes.sources.partial import PartialSource

_SAMPLE_FILES = 256
_SAMPLE_BYTES = 16_000_000
_SAMPLE_S = 10.0
_EMBEDDED = 24
_SECONDS_A_MINUTE = 60


@dataclass(frozen=True, slots=True)
class Forecast:
    """What reading a source would do; ``skipped`` and ``excluded`` are as in a ``Report``, the first counted by reason.

    ``bytes`` are those of new and changed files. ``chunks`` and ``tokens`` are what these give, ``new_tokens`` what of
    that is to be embedded: estimates from ``sampled`` files, of which ``unreadable`` gave nothing, by reason. They are
    exact where all files were sampled. ``waiting`` chunks of the collection have no vector since earlier runs, of
    about ``waiting_tokens``; they are embedded, too. ``read_s`` and ``embed_s`` are seconds, the latter None where the
    model runs elsewhere or is not there; ``dollars`` is None where a price is not known. ``error``: it cannot be
    reached. ``paths``, ``include``, ``exclude`` and ``before`` are as in a ``Report``.
    """

    collection: str
    source: str
    model: str = ""
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: Mapping[str, int] = field(default_factory=dict)
    excluded: Sequence[str] = ()
    bytes: int = 0
    sampled: int = 0
    unreadable: Mapping[str, int] = field(default_factory=dict)
    chunks: int = 0
    tokens: int = 0
    new_tokens: int = 0
    waiting: int = 0
    waiting_tokens: int = 0
    read_s: float = 0.0
    embed_s: float | None = None
    dollars: float | None = 0.0
    error: PinakesError | None = None
    part: str = ""
    paths: Sequence[str] = ()
    include: Sequence[str] = ()
    exclude: Sequence[str] = ()
    before: Mapping[str, JSON] = field(default_factory=dict)

    @property
    def seconds(self) -> float | None:
        """All of it in seconds, None where that cannot be told."""
        return None if self.embed_s is None else self.read_s + self.embed_s


@dataclass(slots=True)
class _Kind:
    """Files of one extension: what is to be read of them, and what the sampled ones gave."""

    items: list[Item] = field(default_factory=list)
    bytes: int = 0
    sampled: int = 0
    chunks: int = 0
    tokens: int = 0
    seconds: float = 0.0

    @property
    def size(self) -> int:
        """Bytes of all of them."""
        return sum(item.size_bytes for item in self.items)


class Forecasts:
    """Says what runs of one home would do, one after the other: what waits is told by the first of a collection."""

    def __init__(self, app: App) -> None:
        self._app = app
        self._reported: set[int] = set()

    def forecast(
        self,
        name: str,
        source: SourceSettings,
        on_event: Callable[[Event], object] = lambda _: None,
        paths: Sequence[str] | None = None,
    ) -> Forecast:
        """Say what reading ``source`` into collection ``name``, which need not be there, would do.

        ``paths``: only what it has there and below is looked at.

        Raises:
            SourceError: it cannot be reached.
            InvalidName: no collection can be called so.
            ModelMismatch: the collection was embedded by another model.
        """
        app = self._app
        with app.catalog.read() as connection:
            record = collections.planned(connection, name)
        if record.id:
            app.check_model(record)
        state, known = self._known(record, source)
        tools = ingestion_runs.tools(app, record)
        with (
            source_settings.source_lock(app.home, name, source, on_event),
            closing(self._opened(source, paths)) as opened,
        ):
            on_event(Event("scan", 0, 0, source.location))
            scan = self._without_shared(record, source, result_of(scanned(opened, state), on_event))
            check_place(scan, known, source.location, name)
            keeps = source_settings.keeps_gone(app.settings, name, source)
            files = _Files.sorted_out(scan, known, opened, source_settings.remedied_now(app.settings), keeps_gone=keeps)
            on_event(Event("scan", len(scan.items), len(scan.items), f"{len(files.wanted)} to read"))
            sample = _Sample(files.wanted)
            with tools.open_parser(files.wanted) as parser:
                sample.read(opened, parser, on_event)
        found = self._estimated(record, tools, sample)
        return replace(
            found,
            source=source.location,
            part=source.part,
            paths=tuple(paths or ()),
            include=source.include,
            exclude=source.exclude,
            before=adding.before(app, name, source),
            new=files.new,
            changed=files.changed,
            unchanged=files.unchanged,
            removed=files.removed,
            skipped=dict(files.skipped.most_common()),
            excluded=[one.reason for one in scan.skipped if one.path == "."],
            bytes=sum(item.size_bytes for item in files.wanted),
        )

    def attempted(
        self,
        name: str,
        source: SourceSettings,
        on_event: Callable[[Event], object] = lambda _: None,
        paths: Sequence[str] | None = None,
    ) -> Forecast:
        """Do the same; where that cannot be told the answer has the ``error``."""
        try:
            return self.forecast(name, source, on_event, paths)
        except PinakesError as error:
            return Forecast(name, source.location, error=error, part=source.part)

    def _opened(self, source: SourceSettings, paths: Sequence[str] | None) -> Source:
        opened = ingestion_runs.source_of(self._app, source)
        return opened if paths is None or not isinstance(opened, Lookable) else PartialSource(opened, paths)

    def _without_shared(self, record: CollectionRecord, source: SourceSettings, scan: Scan) -> Scan:
        """Return a scan in which files that another source of the collection holds are left out."""
        catalog = self._app.catalog
        others = others_of(catalog, self._app.settings, record.name, record.id, source.place) if record.id else ()
        held = held_by_others(catalog, record.id, source.place[:2], others, scan.items)
        left = [Skipped(path, one.reason or "") for path, one in held.items()]
        items = tuple(item for item in scan.items if item.path not in held)
        return replace(scan, items=items, skipped=(*scan.skipped, *left)) if held else scan

    def _known(self, record: CollectionRecord, source: SourceSettings) -> tuple[str | None, dict[str, FileRecord]]:
        """Return the state of a source and what is known of its files; where its options changed, it is read anew."""
        if not record.id:
            return None, {}
        app = self._app
        with app.catalog.read() as connection:
            every = sources.list_all(connection, record.id)
            kept = next((one for one in every if one.place == source.place), None)
            every_file = sources.manifest(connection, kept.id) if kept else {}
            known = {path: one for path, one in every_file.items() if one.code != HELD}
            again = Rereading.of_source(connection, kept, known) if kept else Rereading()
        if kept is None:
            return None, {}
        if not source_settings.same_options(kept.options, ingestion_runs.options_of(app, record.name, record, source)):
            return None, {path: _unread(one) for path, one in known.items()}
        known = {path: _unread(one) if path in again else one for path, one in known.items()}
        state = source_settings.run_options_of(app.settings, record.name, kept).since(kept.state, kept.report)
        return None if again.scan_all else state, known

    def _estimated(self, record: CollectionRecord, tools: Tools, sample: _Sample) -> Forecast:
        """Return the part of a forecast that the sample tells."""
        chunks, tokens, seconds = sample.scaled()
        new = round(tokens * self._share_to_embed(record, tools.embedder, sample.chunks))
        waiting, waiting_tokens = self._waiting(record)
        at_once = self._app.workers.most if sample.much else 1
        return Forecast(
            record.name,
            "",
            model=record.fingerprint or _fingerprint(tools.embedder),
            sampled=sample.files,
            unreadable=dict(sample.unreadable.most_common()),
            chunks=chunks,
            tokens=tokens,
            new_tokens=new,
            waiting=waiting,
            waiting_tokens=waiting_tokens,
            read_s=seconds / max(1, at_once),
            embed_s=self._seconds_to_embed(record, tools.embedder, sample.chunks, new + waiting_tokens),
            dollars=dollars(tools.embedder, new + waiting_tokens),
        )

    def _waiting(self, record: CollectionRecord) -> tuple[int, int]:
        """Return how many texts of a collection wait for a vector, and their tokens; none where that was told."""
        if record.id in self._reported:
            return 0, 0
        self._reported.add(record.id)
        with self._app.catalog.read() as connection:
            return embeddings.waiting(connection, record.id, record.model_id)

    def _share_to_embed(self, record: CollectionRecord, embedder: Embedder, chunks: Sequence[Chunk]) -> float:
        """Return the share of the sampled tokens that have no vector by this model yet, and do not wait for one."""
        keys = {embedding_key(chunk): chunk.token_count for chunk in chunks}
        with self._app.catalog.read() as connection:
            model_id = collections.model_id(connection, _fingerprint(embedder))
            known = embeddings.known_keys(connection, model_id, keys) if model_id is not None else set()
            known |= embeddings.places(connection, record.id, keys).keys()
        total = sum(chunk.token_count for chunk in chunks)
        return sum(count for key, count in keys.items() if key not in known) / total if total else 0.0

    def _seconds_to_embed(
        self, record: CollectionRecord, embedder: Embedder, chunks: Sequence[Chunk], tokens: int
    ) -> float | None:
        """Return how long a model takes for so many tokens: measured here, or as fast as it may be asked elsewhere."""
        if not tokens:
            return 0.0
        if isinstance(embedder, Remote):  # nothing is sent away to find out what sending would cost
            pace = self._app.model_of(record).tokens_per_minute
            return tokens / pace * _SECONDS_A_MINUTE if pace else None
        some = [chunk.embedded_text for chunk in chunks[:: max(1, len(chunks) // _EMBEDDED)][:_EMBEDDED]]
        if not some:
            with self._app.catalog.read() as connection:
                rows = embeddings.pending(connection, record.id, record.model_id, _EMBEDDED)
            some = [text for _, _, text in rows]
        try:
            embedder.embed(["load the model"])
            measured = sum(len(embedder.token_starts(text)) for text in some)
            start = time.perf_counter()
            embedder.embed(some)
        except (InvalidInput, ModelUnavailable):  # what waits may do so because the model refuses it
            return None
        return (time.perf_counter() - start) * tokens / measured if measured else 0.0


@dataclass(slots=True)
class _Files:
    """The files of a source by what a run would do with them."""

    wanted: list[Item] = field(default_factory=list)
    new: int = 0
    changed: int = 0
    unchanged: int = 0
    removed: int = 0
    skipped: Counter[str] = field(default_factory=Counter)
    remedied: frozenset[str] = frozenset()

    @classmethod
    def sorted_out(
        cls,
        scan: Scan,
        known: Mapping[str, FileRecord],
        source: Source,
        remedied: frozenset[str],
        *,
        keeps_gone: bool,
    ) -> _Files:
        """Compare what a source offers with what is known of it; what was touched is looked into.

        What was skipped for an error with one of the codes ``remedied`` is to be read. ``keeps_gone``: documents stay
        whose files are gone.
        """
        files = cls(remedied=remedied)
        files.skipped.update(one.reason for one in scan.skipped if one.path != ".")
        for item in scan.items:
            files._take(item, known.get(item.path), source)
        gone = {} if keeps_gone else vanished_files(scan, known)
        files.removed = sum(one.document_id is not None for one in gone.values())
        if not scan.complete:
            indexed = sum(one.document_id is not None for one in known.values())
            files.unchanged = max(0, indexed - files.changed - files.removed)
        return files

    def _take(self, item: Item, before: FileRecord | None, source: Source) -> None:
        tried_again = before is not None and (before.status == "error" or before.code in self.remedied)
        if before is not None and before.fingerprint == item.fingerprint and not tried_again:
            if before.status == "skipped":
                self.skipped[before.reason or ""] += 1
            else:
                self.unchanged += 1
        elif reason := parsing.refusal(item.path):
            self.skipped[reason] += 1
        elif before is None or before.document_id is None:
            self.new += 1
            self.wanted.append(item)
        elif before.content_hash is not None and _digest(item, source) == before.content_hash:
            self.unchanged += 1
        else:
            self.changed += 1
            self.wanted.append(item)


class _Sample:
    """Some of the files that are to be read, of every extension, and what they gave."""

    def __init__(self, wanted: Sequence[Item]) -> None:
        self._kinds: dict[str, _Kind] = {}
        for item in wanted:
            self._kinds.setdefault(PurePosixPath(item.path).suffix.lower(), _Kind()).items.append(item)
        self._size = sum(item.size_bytes for item in wanted)
        self._all = len(wanted) <= _SAMPLE_FILES and self._size <= _SAMPLE_BYTES
        self.much = self._size >= WORTH_BYTES
        self.files = 0
        self.chunks: list[Chunk] = []
        self.unreadable: Counter[str] = Counter()

    def read(self, source: Source, parser: FileParser, on_event: Callable[[Event], object]) -> None:
        """Read and cut the sample, for some seconds at most."""
        chosen = [(kind, item) for kind in self._kinds.values() for item in self._chosen(kind)]
        chosen.sort(key=lambda one: one[1].size_bytes)
        start = time.monotonic()
        for done, (kind, item) in enumerate(chosen, start=1):
            if time.monotonic() - start > _SAMPLE_S:
                return
            self._read(kind, item, source, parser)
            on_event(Event("read", done, len(chosen), item.path))

    def scaled(self) -> tuple[int, int, float]:
        """Return chunks, tokens and seconds of all files: of each kind in the measure of its bytes."""
        known = [kind for kind in self._kinds.values() if kind.sampled]
        total = _Kind(bytes=sum(kind.bytes for kind in known))
        for kind in known:
            total.chunks, total.tokens = total.chunks + kind.chunks, total.tokens + kind.tokens
            total.seconds += kind.seconds
        chunks = tokens = seconds = 0.0
        for kind in self._kinds.values():
            by = kind if kind.sampled else total
            factor = kind.size / by.bytes if by.bytes else 0.0
            chunks += by.chunks * factor
            tokens += by.tokens * factor
            seconds += by.seconds * factor
        return round(chunks), round(tokens), seconds

    def _chosen(self, kind: _Kind) -> list[Item]:
        """Return some files of a kind, evenly among small and large ones."""
        if self._all:
            return kind.items
        share = kind.size / max(1, self._size)
        ordered = sorted(kind.items, key=lambda item: (item.size_bytes, item.path))
        most = max(1, round(_SAMPLE_FILES * share))
        step = len(ordered) / min(most, len(ordered))
        evenly = [ordered[int(step * (n + 0.5))] for n in range(min(most, len(ordered)))]
        allowed, chosen = max(share * _SAMPLE_BYTES, evenly[0].size_bytes), list[Item]()
        for item in evenly:
            if item.size_bytes <= allowed:
                chosen.append(item)
                allowed -= item.size_bytes
        return chosen

    def _read(self, kind: _Kind, item: Item, source: Source, parser: FileParser) -> None:
        self.files += 1
        kind.sampled += 1
        kind.bytes += item.size_bytes
        try:
            cut = parser.begin(source.read(item), item.path)()
        except PinakesError as error:
            self.unreadable[error.message] += 1
        except (ChildProcessError, TimeoutError) as error:
            self.unreadable[str(error)] += 1
        else:
            kind.chunks += len(cut.chunks)
            kind.tokens += sum(chunk.token_count for chunk in cut.chunks)
            kind.seconds += cut.read_s + cut.chunk_s
            self.chunks += cut.chunks


def _unread(file: FileRecord) -> FileRecord:
    return replace(file, fingerprint="", content_hash=None)


def _digest(item: Item, source: Source) -> str:
    try:
        return hashlib.sha256(source.read(item)).hexdigest()
    except PinakesError:  # the run says so
        return ""


def _fingerprint(embedder: Embedder) -> str:
    try:
        return embedder.fingerprint
    except ModelUnavailable:
        return ""
