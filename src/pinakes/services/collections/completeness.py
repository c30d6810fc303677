"""Which documents of a collection have which metadata, and which lack what they should have."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from pinakes.catalog import Catalog, Connection, contents
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.content_types import FIELD as CONTENT_TYPE
from pinakes.core.content_types import content_type
from pinakes.core.errors import InvalidSetting, PinakesError
from pinakes.core.filters import flatten, match, normal_name, normal_text, parse
from pinakes.core.records import JSON, Filter, Metadata
from pinakes.metadata import ERRORS, default_of, typed
from pinakes.settings import CollectionSettings

TARGET = 0.95
"""More than this share of what is required should be there."""

_MOST_FIELDS = 500
_MOST_VALUES = 1000


@dataclass(frozen=True, slots=True)
class MistypedValue:
    """A value that is none of its field's type, or metadata that could not be read, and where."""

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class FieldReport:
    """How a field is filled. ``share`` is of the documents that should have it: all, where it is not required.

    ``stated`` documents have a value that was found, ``by_default`` the one that the settings give where none is.
    ``types``: "text", "number", "boolean", "list", "table" → documents with such a value. ``missing`` are paths of
    documents that lack it, as many as were asked for; ``lacking`` counts all of them, ``wanted`` those that should
    have it.
    """

    name: str
    required: bool
    wanted: int
    stated: int
    by_default: int
    lacking: int
    share: float
    types: Mapping[str, int]
    values: int
    missing: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Completeness:
    """How complete the metadata of a collection is; shares are 0 to 1.

    ``share`` is that of all values that are required and were found; ``with_defaults`` counts those that the settings
    give where none is. Both are None where nothing is required, or nothing is there. ``whole`` documents have all that
    is required of them.
    """

    collection: str
    documents: int
    share: float | None
    with_defaults: float | None
    target: float
    whole: int
    fields: tuple[FieldReport, ...]
    unlike: tuple[MistypedValue, ...] = ()
    unlike_count: int = 0

    @property
    def reached(self) -> bool:
        """Whether more than ``target`` of what is required was found; so it is where nothing is required."""
        return self.share is None or self.share > self.target


@dataclass(slots=True)
class _Tally:
    required: bool = False
    wanted: int = 0
    stated: int = 0
    by_default: int = 0
    types: Counter[str] = field(default_factory=Counter)
    values: set[str] = field(default_factory=set)
    missing: list[str] = field(default_factory=list)


def completeness(
    catalog: Catalog,
    record: CollectionRecord,
    rules: CollectionSettings,
    fields: Sequence[str] = (),
    missing: int = 20,
) -> Completeness:
    """Return how complete the metadata of a collection is, with up to ``missing`` paths for each field.

    ``fields`` are looked at as if these alone were required, of every document.

    Raises:
        InvalidSetting: a filter of ``required_where`` that cannot be used.
    """
    where = {} if fields else _conditions(rules)
    required = list(dict.fromkeys([*map(normal_name, fields or rules.required), *where]))
    count = _Count(where, _defaults(rules))
    count.most = missing
    count.tallies = {name: _Tally(required=True) for name in required}
    with catalog.read() as connection:
        for path, place, own in _everything(connection, record.id):
            count.document(path, place, own)
    reports = tuple(_report(name, tally, count.documents) for name, tally in _in_order(count.tallies))
    due = [one for one in reports if one.required]
    wanted, stated = sum(one.wanted for one in due), sum(one.stated for one in due)
    return Completeness(
        collection=record.name,
        documents=count.documents,
        share=stated / wanted if wanted else None,
        with_defaults=(stated + sum(one.by_default for one in due)) / wanted if wanted else None,
        target=TARGET,
        whole=count.whole,
        fields=reports,
        unlike=tuple(count.unlike),
        unlike_count=count.unlike_count,
    )


@dataclass(slots=True)
class _Count:
    """What is counted, document by document. ``defaults``: what fields may have where nothing was found."""

    where: Mapping[str, Filter]
    defaults: Mapping[str, Sequence[Set[str]]]
    most: int = 0
    tallies: dict[str, _Tally] = field(default_factory=dict)
    documents: int = 0
    whole: int = 0
    unlike: list[MistypedValue] = field(default_factory=list)
    unlike_count: int = 0

    def document(self, path: str, place: Metadata, metadata: Metadata) -> None:
        """Count one document; ``place`` is what filters see of it besides its metadata."""
        self.documents += 1
        for reason in _problems(metadata):
            self.unlike_count += 1
            if len(self.unlike) < self.most:
                self.unlike.append(MistypedValue(path, reason))
        there: dict[str, list[JSON]] = {}
        for name, value in flatten({key: value for key, value in metadata.items() if value not in ("", [])}):
            there.setdefault(name, []).append(value)
        due = {name for name, tally in self.tallies.items() if tally.required and self._wants(name, place, metadata)}
        tops = {normal_name(str(key)): value for key, value in metadata.items()}
        for name, values in there.items():
            self._value(name, values, tops.get(name, values[0]), due)
        for name in due:
            self.tallies[name].wanted += 1
            if name not in there and len(self.tallies[name].missing) < self.most:
                self.tallies[name].missing.append(path)
        self.whole += due <= there.keys()

    def _wants(self, name: str, place: Metadata, metadata: Metadata) -> bool:
        return name not in self.where or match(self.where[name], {**place, **metadata})

    def _value(self, name: str, values: Sequence[JSON], whole: JSON, due: Collection[str]) -> None:
        if name not in self.tallies and len(self.tallies) >= _MOST_FIELDS:
            return
        tally = self.tallies.setdefault(name, _Tally())
        if tally.required and name not in due:
            return
        by_default = {*map(normal_text, values)} in self.defaults.get(name, ())
        tally.by_default += by_default
        tally.stated += not by_default
        tally.types[_kind(whole)] += 1
        if len(tally.values) < _MOST_VALUES:
            tally.values.update(map(normal_text, values))


def _defaults(rules: CollectionSettings) -> dict[str, list[Set[str]]]:
    """Return what rules of "default" give each field, as documents have it."""
    found: dict[str, list[Set[str]]] = {}
    for rule in rules.metadata_rules:
        if rule.take == "default":
            value = typed({rule.field: default_of(rule)}, rules.fields).get(rule.field)
            values = value if isinstance(value, list) else [value]
            found.setdefault(normal_name(rule.field), []).append({*map(normal_text, values)})
    return found


def _conditions(rules: CollectionSettings) -> dict[str, Filter]:
    found = {}
    for name, stated in rules.required_where.items():
        try:
            found[normal_name(name)] = parse(stated)
        except PinakesError as error:
            raise InvalidSetting(f"required_where.{name}: {error.message}", hint=error.hint) from error
    return found


def _everything(connection: Connection, collection_id: int) -> Iterator[tuple[str, Metadata, Metadata]]:
    """Yield path, what else filters see of it, and metadata of every document, by path."""
    for path, kind, title, metadata in contents.metadata_of_documents(connection, collection_id):
        name = path.rpartition("/")[2]
        place = {
            "path": path,
            "kind": kind,
            "title": title,
            "file_name": name,
            "file_type": name.rpartition(".")[2].lower() if "." in name else "",
            CONTENT_TYPE: content_type(kind, path, metadata.get(CONTENT_TYPE)),
        }
        yield path, place, metadata


def _kind(value: JSON) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, list):
        return "list"
    return "table" if isinstance(value, Mapping) else "text"


def _problems(metadata: Metadata) -> Iterator[str]:
    errors = metadata.get(ERRORS)
    yield from map(str, errors if isinstance(errors, list) else ())
    for name in ("front_matter_error", "parse_error"):
        if name in metadata:
            yield f"{name.replace('_', ' ')}: {metadata[name]}"


def _in_order(tallies: Mapping[str, _Tally]) -> list[tuple[str, _Tally]]:
    """Return what is required in its order, then the rest, the commonest first."""
    rest = [one for one in tallies.items() if not one[1].required]
    rest.sort(key=lambda one: (-one[1].stated - one[1].by_default, one[0]))
    return [*(one for one in tallies.items() if one[1].required), *rest]


def _report(name: str, tally: _Tally, documents_: int) -> FieldReport:
    wanted = tally.wanted if tally.required else documents_
    filled = tally.stated + tally.by_default
    return FieldReport(
        name=name,
        required=tally.required,
        wanted=wanted,
        stated=tally.stated,
        by_default=tally.by_default,
        lacking=wanted - filled,
        share=filled / wanted if wanted else 1.0,
        types=dict(tally.types.most_common()),
        values=len(tally.values),
        missing=tuple(tally.missing),
    )
