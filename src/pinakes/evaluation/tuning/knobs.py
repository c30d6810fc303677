"""The settings that can be tuned, with their candidate values, by family."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import TypeAlias

from pinakes.core.errors import InvalidInput
from pinakes.core.records import JSON
from pinakes.settings import Settings, table

Values: TypeAlias = Mapping[str, JSON]
"""Dotted setting → value."""

Point: TypeAlias = tuple[tuple[str, JSON], ...]
"""Settings that differ from the current ones, as sorted pairs of dotted name and value; empty = the current ones."""


@dataclass(frozen=True, slots=True)
class Knob:
    """A tunable unit: each of ``choices`` sets one setting, or several that belong together."""

    name: str
    choices: tuple[Values, ...]


FAMILIES = ("fusion", "fields", "boosts", "pool", "ann", "chunking")
DEFAULT = ("fusion", "fields", "boosts")
ALONE = ("ann", "chunking")
"""Families that are tuned separately: every value needs another index."""

_WEIGHTS = tuple(round(0.1 * tenth, 1) for tenth in range(11))
_RRF_K = (10, 20, 60, 100)
_DOUBLING = (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.6)
_BOOSTS = (0.0, 0.05, 0.1, 0.15, 0.2, 0.3, 0.4, 0.6, 0.8, 1.0)
_POOLS = (10, 20, 30, 50, 100, 150, 200, 300)


def knobs(families: Sequence[str], settings: Settings) -> list[Knob]:
    """Return the knobs of these families in the order of their tuning.

    Raises:
        InvalidInput: a family is unknown, does not go with another, or has nothing to turn.
    """
    wanted = check(families)
    found = [knob for family in wanted for knob in _OF_FAMILY[family](settings)]
    if not found:
        raise InvalidInput(f"There is nothing to tune in {', '.join(wanted)}.", hint=f"Try {', '.join(DEFAULT)}.")
    return found


def check(families: Sequence[str]) -> tuple[str, ...]:
    """Return the selected families without repetition.

    Raises:
        InvalidInput: one is unknown or does not go with another.
    """
    wanted = tuple(dict.fromkeys(families)) or DEFAULT
    for family in wanted:
        if family not in FAMILIES:
            raise InvalidInput(f"There is no {family!r} to tune.", hint=f"Use one of {', '.join(FAMILIES)}.")
        if family in ALONE and len(wanted) > 1:
            raise InvalidInput(
                f"{family!r} cannot be tuned together with others: every try needs an index of its own.",
                hint=f"Tune it by itself: --what {family}",
            )
    return wanted


def moved(point: Point, choice: Values, current: Values) -> Point:
    """Return ``point`` with ``choice`` applied, without values equal to ``current``."""
    values = {**dict(point), **choice}
    return tuple(sorted((name, value) for name, value in values.items() if value != current.get(name)))


def applied(settings: Settings, point: Point, collection: str = "") -> Settings:
    """Return ``settings`` with those of ``point``; chunking is that of ``collection`` where it has its own.

    Raises:
        InvalidInput: the settings do not allow such a value.
    """
    from pydantic import ValidationError

    sections: dict[str, JSON] = {}
    try:
        for section, pairs in groupby(point, key=lambda pair: pair[0].rpartition(".")[0]):
            values = {name.rpartition(".")[2]: value for name, value in pairs}
            rules = settings.collections.get(collection)
            if section == "chunking" and rules is not None and rules.chunking is not None:
                own = _with(rules, {"chunking": _with(rules.chunking, values)})
                sections["collections"] = {**settings.collections, collection: own}
            else:
                sections[section] = _with(getattr(settings, section), values)
    except ValidationError as error:
        raise InvalidInput(
            f"These settings cannot be tried: {setting_words(point)}.", hint="See: pinakes config"
        ) from error
    return settings.model_copy(update=sections)


def settings_section(name: str, settings: Settings, collection: str) -> str:
    """Return the dotted name under which a settings file must set ``name`` for ``collection``."""
    rules = settings.collections.get(collection)
    own = name.startswith("chunking.") and rules is not None and rules.chunking is not None
    return f"collections.{collection}.{name}" if own else name


def current_values(
    settings: Settings, every: Iterable[Knob], collection: str = "", kept: Mapping[str, JSON] | None = None
) -> dict[str, JSON]:
    """Return the current values of the settings of ``every`` knob; ``kept``: the collection's own settings."""
    values: dict[str, JSON] = {line.name: line.value for line in table(settings)}
    chunking = settings.chunking_of(collection, kept)
    values |= {f"chunking.{name}": getattr(chunking, name) for name in type(chunking).model_fields}
    return {name: values[name] for knob in every for choice in knob.choices for name in choice}


def setting_words(point: Point) -> str:
    """Return the settings of ``point`` in the form for ``--set``: "search.rrf_k=60"."""
    return " ".join(f"{name}={_plain(value)}" for name, value in point) if point else "as it is set now"


def _plain(value: JSON) -> str:
    return value if isinstance(value, str) else f"{value:g}" if isinstance(value, float) else str(value)


def _with(section: JSON, values: Values) -> JSON:
    fields = {name: getattr(section, name) for name in type(section).model_fields}
    return type(section).model_validate({**fields, **values})


def _each(name: str, values: Iterable[JSON], settings: Settings) -> Knob:
    """Return a knob of one setting: its current value, and the valid ones of ``values``."""
    section, _, field = name.rpartition(".")
    now = getattr(getattr(settings, section), field)
    allowed = [value for value in values if _is_allowed(settings, name, value)]
    return Knob(name, tuple({name: value} for value in dict.fromkeys([now, *allowed])))


def _is_allowed(settings: Settings, name: str, value: JSON) -> bool:
    try:
        applied(settings, ((name, value),))
    except InvalidInput:
        return False
    return True


def _fusion(settings: Settings) -> list[Knob]:
    weights = [{"search.semantic_weight": one, "search.keyword_weight": round(1 - one, 1)} for one in _WEIGHTS]
    search = settings.search
    now = {"search.semantic_weight": search.semantic_weight, "search.keyword_weight": search.keyword_weight}
    fusions: list[Values] = [{"search.fusion": "weighted", "search.rrf_k": search.rrf_k}]
    fusions += [{"search.fusion": "rrf", "search.rrf_k": k} for k in dict.fromkeys([search.rrf_k, *_RRF_K])]
    return [
        Knob("weights", (now, *weights)),
        _each("search.document_cosine_share", (0.0, 0.2, 0.4, 0.6, 0.8, 1.0), settings),
        _each("search.document_bm25_share", (0.0, 0.25, 0.5, 0.7, 0.85, 1.0), settings),
        _each("search.bm25_attained", (0.0, 0.2, 0.35, 0.5, 0.7), settings),
        _each("search.feedback_weight", (0.0, 0.1, 0.2, 0.35, 0.5, 0.7, 1.0), settings),
        Knob("fusion", tuple(fusions)),
    ]


def _fields(settings: Settings) -> list[Knob]:
    names = ("search.title_boost", "search.path_boost", "search.phrase_boost")
    return [_each(name, _DOUBLING, settings) for name in names]


def _boosts(settings: Settings) -> list[Knob]:
    names = ("search.definition_boost", "search.identifier_boost", "boosts.test_penalty")
    return [_each(name, _BOOSTS, settings) for name in names]


_OF_FAMILY: Mapping[str, Callable[[Settings], list[Knob]]] = {
    "fusion": _fusion,
    "fields": _fields,
    "boosts": _boosts,
    "pool": lambda settings: [_each("search.candidates", _POOLS, settings)],
}
"""Of the others the values depend on the collection, see ``approximate`` and ``chunks``."""
