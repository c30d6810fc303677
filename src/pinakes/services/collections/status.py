"""How a collection stands: what it holds, where that comes from, how far vectors and indexes are."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from pinakes.app import App
from pinakes.app.source_overlaps import overlapping
from pinakes.app.source_settings import settings_of
from pinakes.catalog import collections, full_documents, sources
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.sources import SourceRecord
from pinakes.core.errors import IndexCorrupt, IndexTooNew, IndexUnavailable
from pinakes.core.records import JSON
from pinakes.services import model_change
from pinakes.services.collections import upgrading
from pinakes.services.collections.upgrading import UpgradeStatus
from pinakes.services.model_change import BesideStatus
from pinakes.services.sync.watched import WatchedFolder, WatchedFolders, WatchStatus
from pinakes.settings import SourceSettings
from pinakes.sources import read_at


@dataclass(frozen=True, slots=True)
class CollectionStatus:
    """What a collection holds, where it comes from, and how far its vectors and index are.

    ``pending`` chunks have no vector by the model yet, ``approximate`` of them an approximate one, the others none.
    ``notes`` are what was dropped, doubted or masked when documents were read, each with its ``path``.
    ``upgrade`` says how much of it older versions of Pinakes made. An ``index`` that cannot be used has a "problem".
    ``beside`` is the generation of another model beside the one that answers, where there is one.
    ``outdated_profile`` is the shipped profile whose rules the collection keeps as another version had them.
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
    beside: BesideStatus | None = None
    notes: tuple[dict[str, JSON], ...] = ()
    upgrade: UpgradeStatus | None = None
    outdated_profile: str = ""

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


def status_of(app: App, record: CollectionRecord, *, mend: bool = True) -> CollectionStatus:
    """Return how a collection is now; without ``mend`` an index that is damaged is told, and stays as it is."""
    record, held = _index_state(app, record, mend=mend)
    with app.catalog.read() as connection:
        counts = collections.count(connection, record)
        known = sources.list_all(connection, record.id)
        files = [sources.counts(connection, source.id) for source in known]
        problems = sources.problems(connection, record.id)
        notes = full_documents.noted(connection, record.id)
    others = overlapping([settings_of(one) for one in known])
    followed = WatchedFolders(app).statuses()
    return CollectionStatus(
        name=record.name,
        description=record.description,
        documents=counts.documents,
        groups=counts.groups,
        chunks=counts.chunks,
        tokens=counts.tokens,
        pending=counts.pending,
        approximate=_approximate(counts, held),
        model=record.fingerprint,
        sources=tuple(_source(followed, record.name, *one) for one in zip(known, files, others, strict=True)),
        problems=tuple({"path": p.path, "status": p.status, "reason": p.reason} for p in problems),
        notes=tuple({"path": path, **asdict(note)} for path, note in notes),
        index=held,
        upgrade=upgrading.status_of(app, record),
        beside=model_change.about(app, record.name),
        outdated_profile=app.profile_rules.outdated(record),
    )


def _index_state(app: App, record: CollectionRecord, *, mend: bool) -> tuple[CollectionRecord, Mapping[str, JSON]]:
    """Return a collection as it is now, and what its index says of itself, or why it cannot be used."""
    try:
        if mend:
            record, index = app.index(record.name, wait=False)
        else:
            record, index = app.followers.current(record, wait=False)
        return record, index.describe()
    except (IndexCorrupt, IndexTooNew, IndexUnavailable) as error:
        return record, {"engine": app.settings.index.engine, "problem": error.message}


def _approximate(counts: collections.CollectionCounts, held: Mapping[str, JSON]) -> int:
    """Return how many chunks have an approximate vector; the index may be a moment behind the catalogue."""
    vectors = int(held.get("vectors", 0))
    return min(counts.pending, vectors - int(held.get("exact_vectors", vectors)))


def _source(
    followed: Mapping[str, WatchStatus],
    collection: str,
    kept: SourceRecord,
    files: Mapping[str, int],
    others: Sequence[SourceSettings],
) -> dict[str, JSON]:
    """Return a source as a status shows it: ``ref`` and ``commit`` of a git source are None while it was not read.

    ``overlaps``: locations of the ``others``, which have files of it.
    ``followed`` is what the process that follows a folder is doing, None where none does.
    """
    wanted = settings_of(kept)
    watch_status = followed.get(WatchedFolder(collection, wanted).key) if kept.kind == "folder" else None
    ref, commit = read_at(kept.kind, kept.state)
    return {
        "kind": kept.kind,
        "location": kept.location,
        "part": kept.part,
        "ref": wanted.ref or ref,
        "commit": commit,
        "include": list(wanted.include),
        "exclude": list(wanted.exclude),
        "synced_at": kept.synced_at,
        "error": kept.error,
        "unreached": sources.unreached(kept),
        "files": dict(files),
        "overlaps": [one.location for one in others],
        "followed": watch_status.doing if watch_status else None,
    }
