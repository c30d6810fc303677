"""Plug-ins: embedders, rerankers, readers and index engines that other distributions offer by entry points.

The name of an entry point is what a setting calls the part; that of a reader is the extension (".gpx"), file name or
media type of what it reads. Only what is named so is loaded. Where a name is one of ours, ours is used, and nothing is
looked for.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, TypeVar

from pinakes.core.errors import InvalidSetting, PinakesError, PluginBroken

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")

GROUPS: Final[Mapping[str, str]] = {
    "embedders": "embedding provider",
    "engines": "index engine",
    "readers": "reader",
    "rerankers": "rerank provider",
}
"""Group, which entry points name as in "pinakes.embedders" → what messages call a part of it."""

_PREFIX: Final = "pinakes."


@cache
def offered() -> Mapping[str, Sequence[EntryPoint]]:
    """Return the plug-ins of all installed distributions by group, ordered by name. They are looked for once."""
    from importlib.metadata import entry_points  # slow to import, and most commands need no plug-in

    found = entry_points()
    return {
        group: sorted(found.select(group=_PREFIX + group), key=lambda one: (one.name, distribution(one)))
        for group in GROUPS
    }


def named(group: str, name: str) -> Sequence[EntryPoint]:
    """Return the plug-ins of this name; more than one is a mistake, which ``build`` tells of."""
    return [one for one in offered()[group] if one.name == name]


def build(group: str, ours: Mapping[str, str], name: str, make: Callable[[Any], T]) -> T:
    """Return what ``make`` makes of the class called ``name``: one of ``ours`` (name → "module:Class"), or a plug-in.

    Raises:
        InvalidSetting: there is none of this name.
        PluginBroken: it is a plug-in that cannot be used.
    """
    if place := ours.get(name):
        module, _, kind = place.partition(":")
        return make(getattr(import_module(module), kind))
    if plugins := named(group, name):
        return build_plugin(plugins[0], make)
    known = {*ours, *(one.name for one in offered()[group])}
    raise InvalidSetting(f"There is no {GROUPS[group]} {name!r}.", hint=f"Known: {', '.join(sorted(known))}.")


def build_plugin(plugin: EntryPoint, make: Callable[[Any], T]) -> T:
    """Load a plug-in and return what ``make`` makes of it.

    Raises:
        PluginBroken: another plug-in has its name, it cannot be loaded, or ``make`` fails.
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
    """Return the error that a plug-in cannot be used, and ``why``."""
    return PluginBroken(
        f"{_worded(plugin)} cannot be used: {why}.",
        hint="Update, mend or uninstall this package; `pinakes plugins` says which plug-ins load.",
    )


def check(plugin: EntryPoint, *, is_ours: bool) -> None:
    """Make sure that a plug-in loads. ``is_ours``: Pinakes has a part of its name.

    Raises:
        PluginBroken: it does not load, or has the name of another part.
    """
    if is_ours:
        raise PluginBroken(
            f"{_worded(plugin)} has the name of a part of Pinakes, which is used.",
            hint="Rename the entry point in the pyproject.toml of that package.",
        )
    build_plugin(plugin, lambda part: part)


def distribution(plugin: EntryPoint, separator: str = " ") -> str:
    """Return which distribution a plug-in is of, and its version: "pinakes-example 0.1.0"."""
    return f"{plugin.dist.name}{separator}{plugin.dist.version}" if plugin.dist else "unknown"


def _worded(plugin: EntryPoint) -> str:
    return f"The {GROUPS[plugin.group.removeprefix(_PREFIX)]} {plugin.name!r} of {distribution(plugin)}"
