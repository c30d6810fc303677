"""Storage of runs: one JSON file each, with all measurements and their conditions."""

from __future__ import annotations

import hashlib
import json
import os
import platform
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from pathlib import Path

from pinakes.catalog import Catalog, collections, document_queries
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import InvalidInput, NotFound, storing
from pinakes.core.installation import running_version
from pinakes.core.records import JSON
from pinakes.evaluation.figures import ModeFigures
from pinakes.evaluation.golden import digest
from pinakes.evaluation.names import DocumentNames
from pinakes.evaluation.questions import GoldenSet
from pinakes.platform.permissions import make_private
from pinakes.settings import REMOVED, Settings

FOLDER = "evaluations"
LAST = "last"
_IRRELEVANT = {
    *("home", "cache", "profile", "collection", "collections", "ingest", "server"),
    *("server_name", "server_title", "server_version", "toolsets", "tools"),
    *("audit", "chat", "documents", "history", "knowledge_base", "watch"),
}
"""Settings that do not decide how a collection answers; what ``ingest`` decides shows in the corpus itself."""

_OF_COLLECTION = {"path_templates", "document_key", "group_metadata", "key_field"}
_UNSAFE = re.compile(r"[^\w.-]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class GoldenInfo:
    """The questions of a run: counts, names without a document, names of several documents (name → paths)."""

    name: str
    digest: str
    questions: int
    answerable: int
    unknown: tuple[str, ...] = ()
    ambiguous: Mapping[str, tuple[str, ...]] | None = None


@dataclass(frozen=True, slots=True)
class CorpusInfo:
    """What was searched. ``fingerprint``: of the contents of all documents; ``pending`` chunks had no exact vector."""

    collection: str
    fingerprint: str
    documents: int = 0
    chunks: int = 0
    pending: int = 0
    model: str = ""


@dataclass(frozen=True, slots=True)
class Run:
    """An evaluation. ``configuration``: dotted setting → value; ``modes``: mode, or name of a run file → figures."""

    name: str
    created_at: str
    version: str
    machine: Mapping[str, str | int | None]
    golden: GoldenInfo
    corpus: CorpusInfo
    configuration: Mapping[str, JSON]
    metrics: tuple[str, ...]
    modes: Mapping[str, ModeFigures]


def new_run(
    golden: GoldenSet,
    names: DocumentNames | None,
    corpus: CorpusInfo,
    configuration: Mapping[str, JSON],
    metrics: Sequence[str],
    modes: Mapping[str, ModeFigures],
) -> Run:
    """Return a run of this moment, on this machine."""
    created = datetime.now(UTC)
    info = GoldenInfo(
        name=golden.name,
        digest=digest(golden.questions),
        questions=len(golden.questions),
        answerable=sum(question.answerable for question in golden.questions),
        unknown=names.unknown if names else (),
        ambiguous=dict(names.ambiguous) if names else {},
    )
    return Run(
        name=f"{created:%Y%m%dT%H%M%SZ}-{_UNSAFE.sub('-', golden.name)[:60]}",
        created_at=created.isoformat(timespec="seconds"),
        version=running_version(),
        machine={"platform": platform.platform(), "python": platform.python_version(), "cpus": os.cpu_count()},
        golden=info,
        corpus=corpus,
        configuration=dict(configuration),
        metrics=tuple(metrics),
        modes=dict(modes),
    )


def corpus_of(catalog: Catalog, record: CollectionRecord) -> CorpusInfo:
    """Return the state of a collection; the fingerprint is 16 hex digits over the sorted hashes of its contents."""
    with catalog.read() as connection:
        counts = collections.count(connection, record)
        hashes = sorted(one.content_hash for one in document_queries.list_all(connection, record.id))
    fingerprint = hashlib.sha256("\n".join(hashes).encode()).hexdigest()[:16]
    return CorpusInfo(record.name, fingerprint, counts.documents, counts.chunks, counts.pending, record.fingerprint)


def corpus_of_file(path: Path) -> CorpusInfo:
    """Return the corpus entry for a measured file of rankings: that file."""
    return CorpusInfo(path.name, hashlib.sha256(path.read_bytes()).hexdigest()[:16])


def configuration_of(settings: Settings, record: CollectionRecord, **others: JSON) -> dict[str, JSON]:
    """Return dotted name → value of all that decides how a collection answers, and ``others``, sorted.

    The settings of the model are the collection's own where it has some.
    """
    plain = settings.model_dump(mode="json", exclude=_IRRELEVANT)
    rules = settings.of_collection(record.name, record.kept).model_dump(mode="json", include=_OF_COLLECTION)
    plain["chunking"] = settings.chunking_of(record.name, record.kept).model_dump(mode="json")
    plain["embedding"] |= record.embedding or {}
    return dict(sorted([*_flat(plain, ""), *_flat({"collection": rules}, ""), *others.items()]))


def changed_settings(before: Mapping[str, JSON], after: Mapping[str, JSON]) -> Iterator[tuple[str, str, str]]:
    """Yield name and both values, as text, of the settings that differ; a removed one has the value it is fixed to."""
    for name in sorted({*before, *after}):
        old, new = (one.get(name, REMOVED.get(name)) for one in (before, after))
        if old != new:
            yield name, shown(old), shown(new)


def shown(value: JSON) -> str:
    """Return a value as text."""
    return "nothing" if value in (None, "") else str(value)


def save(run: Run, home: Path) -> Run:
    """Write a run below ``home``; return it with its new unique name.

    Raises:
        StorageFull: it cannot be written.
    """
    folder = home / FOLDER
    with storing(str(folder)):
        make_private(folder)
        for number in range(1, 1000):
            named = run if number == 1 else replace(run, name=f"{run.name}-{number}")
            try:
                with (folder / f"{named.name}.json").open("x", encoding="utf-8") as file:
                    json.dump(asdict(named), file, ensure_ascii=False, indent=1)
            except FileExistsError:
                continue
            return named
    raise InvalidInput(f"There are too many runs called {run.name!r}.", hint="Remove some of them.")


def find(reference: str, home: Path) -> Run:
    """Return a run by name or by path.

    Raises:
        NotFound: there is none.
        InvalidInput: the file is no run.
    """
    kept = home / FOLDER / f"{reference}.json"
    path = kept if _UNSAFE.search(reference) is None and kept.is_file() else Path(reference)
    if not path.is_file():
        names = names_of_runs(home)
        hint = f"There are {', '.join(names[-5:])}." if names else "None was stored yet."
        raise NotFound(f"There is no run {reference!r}.", hint=f"{hint} See: pinakes evaluate --list")
    return load(path)


def last(home: Path, golden: str, collection: str, modes: Collection[str]) -> Run | None:
    """Return the latest run of a golden set on a collection with one of these ``modes``, None if there is none."""
    for name in reversed(names_of_runs(home)):
        with suppress(InvalidInput):  # of another version, or cut short
            run = load(home / FOLDER / f"{name}.json")
            of_same = (run.golden.name, run.corpus.collection) == (golden, collection)
            if of_same and not run.modes.keys().isdisjoint(modes):
                return run
    return None


def load(path: Path) -> Run:
    """Return the run in a file.

    Raises:
        InvalidInput: it holds none.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(Run).validate_json(path.read_bytes())
    except (OSError, ValidationError) as error:
        raise InvalidInput(f"{path} is no run of `pinakes evaluate`.", hint="See: pinakes evaluate --list") from error


def names_of_runs(home: Path) -> list[str]:
    """Return the names of the stored runs, oldest first."""
    return sorted(path.stem for path in (home / FOLDER).glob("*.json"))


def _flat(value: JSON, name: str) -> list[tuple[str, JSON]]:
    if isinstance(value, Mapping) and value:
        return [pair for key, inner in value.items() for pair in _flat(inner, f"{name}.{key}" if name else str(key))]
    return [(name, value)]
