"""Plug-ins: embedders, rerankers, readers, index engines and extractors of other distributions, by entry points.

The name of an entry point is the value of the setting; for a reader it is the extension (".gpx"), file name or media
type that it reads. Only named plug-ins are loaded. A built-in part takes precedence over plug-ins of its name, which
are then not searched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pinakes.core.errors import InvalidSetting, PinakesError, PluginBroken
from pinakes.core.installation import running_version

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Part:
    """An embedder, reranker, reader or index engine: its name, its distribution, and whether it can be loaded.

    ``error``: the reason if it cannot be loaded, else "".
    """

    group: str
    name: str
    distribution: str
    version: str
    loads: bool
    error: str


GROUPS: Final[Mapping[str, str]] = {
    "embedders": "embedding provider",
    "engines": "index engine",
    "extractors": "extractor",
    "readers": "reader",
    "rerankers": "rerank provider",
}
"""Group of entry points (without the prefix "pinakes.") → the name of its parts in messages."""

_PREFIX: Final = "pinakes."


@cache
def offered() -> Mapping[str, Sequence[EntryPoint]]:
    """Return the plug-ins of all installed distributions by group, sorted by name. Cached."""
    from importlib.metadata import entry_points  # slow to import, and most commands need no plug-in

    found = entry_points()
    return {
        group: sorted(found.select(group=_PREFIX + group), key=lambda one: (one.name, distribution(one)))
        for group in GROUPS
    }


def named(group: str, name: str) -> Sequence[EntryPoint]:
    """Return the plug-ins with this name, case-insensitively; more than one is an error that ``build`` raises."""
    return [one for one in offered()[group] if one.name.lower() == name.lower()]


def extensions(media_type: str) -> tuple[str, ...]:
    """Return the extensions of the plug-in for a media type, () if there is none."""
    places = {one.value for one in named("readers", media_type)}
    names = [one.name.lower() for one in offered()["readers"] if one.value in places]
    return tuple(name for name in names if name.startswith("."))


def build(group: str, ours: Mapping[str, str], name: str, make: Callable[[Any], T]) -> T:
    """Return the result of ``make`` for the class ``name``: one of ``ours`` (name → "module:Class"), or a plug-in.

    Raises:
        InvalidSetting: the name is unknown.
        PluginBroken: the plug-in cannot be used.
    """
    if place := ours.get(name):
        module, _, kind = place.partition(":")
        return make(getattr(import_module(module), kind))
    if plugins := named(group, name):
        return build_plugin(plugins[0], make)
    known = {*ours, *(one.name for one in offered()[group])}
    raise InvalidSetting(f"There is no {GROUPS[group]} {name!r}.", hint=f"Known: {', '.join(sorted(known))}.")


def build_plugin(plugin: EntryPoint, make: Callable[[Any], T]) -> T:
    """Load a plug-in and return the result of ``make``.

    Raises:
        PluginBroken: another plug-in has the same name, the plug-in cannot be loaded, or ``make`` fails.
    """
    group = plugin.group.removeprefix(_PREFIX)
    if others := [distribution(one) for one in named(group, plugin.name) if one is not plugin]:
        raise PluginBroken(
            f"{_worded(plugin)} has the name of that of {' and '.join(others)}; neither is used.",
            hint="Uninstall all but one of these packages.",
        )
    try:
        return make(plugin.load())
    except (PinakesError, MemoryError):
        raise
    except (Exception, SystemExit) as error:
        raise broken(plugin, f"{type(error).__name__}: {error}") from error


def broken(plugin: EntryPoint, why: str) -> PluginBroken:
    """Return the error for a plug-in that cannot be used; ``why`` is the reason."""
    return PluginBroken(
        f"{_worded(plugin)} cannot be used: {why}.",
        hint="Update, mend or uninstall this package; `pinakes plugins` says which plug-ins load.",
    )


def list_parts(group: str, ours: Mapping[str, str]) -> list[Part]:
    """Return the parts of a group, built-in ones first; each is loaded."""

    parts = [
        Part(group, name, "pinakes", running_version(), *_tried(partial(build, group, ours, name))) for name in ours
    ]
    for one in offered()[group]:
        load = partial(_refuse, one) if one.name.lower() in ours else partial(build_plugin, one)
        name, _, number = distribution(one).rpartition(" ")
        parts.append(Part(group, one.name, name, number, *_tried(load)))
    return parts


def _tried(load: Callable[[Callable[[Any], Any]], Any]) -> tuple[bool, str]:
    """Load a part; return whether that succeeded, and the error."""
    try:
        load(lambda part: part)
    except (PinakesError, ImportError, AttributeError) as error:
        return False, str(error)
    return True, ""


def _refuse(plugin: EntryPoint, _: object) -> None:
    raise PluginBroken(
        f"{_worded(plugin)} has the name of a part of Pinakes, which is used in its place.",
        hint="Uninstall that package, or rename the entry point in its pyproject.toml.",
    )


def distribution(plugin: EntryPoint) -> str:
    """Return the distribution of a plug-in with its version: "pinakes-example 0.1.0"."""
    return f"{plugin.dist.name} {plugin.dist.version}" if plugin.dist else "unknown"


def _worded(plugin: EntryPoint) -> str:
    return f"The {GROUPS[plugin.group.removeprefix(_PREFIX)]} {plugin.name!r} of {distribution(plugin)}"
