"""The settings in force. Layers, last wins: defaults, profile, files of the home, ``.env``, environment, arguments.

The files of the home are ``config.toml``, ``config.yaml`` and ``config.local.yaml``; the last one wins for each
setting. An environment variable is named after its setting: ``PINAKES_SEARCH__TOP_K``.
"""

from __future__ import annotations

import json
import logging
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ValidationError
from pydantic.fields import FieldInfo

from pinakes.core.errors import InvalidName, InvalidSetting
from pinakes.core.records import JSON
from pinakes.core.wording import as_utf8, split_list
from pinakes.settings import dotenv, knowledge_sources
from pinakes.settings.base import LONGEST_S, Section, merge_layers
from pinakes.settings.metadata import MetadataRule
from pinakes.settings.outside import WebhookSettings, without_password
from pinakes.settings.refusals import refusal, shortened, unknown
from pinakes.settings.removed import REMOVED, without_removed
from pinakes.settings.sections import BoostRule, CollectionSettings, NamedSearch, Settings
from pinakes.settings.sources import PlacedSource

_log = logging.getLogger(__name__)

ENV_PREFIX = "PINAKES_"
_NOT_OURS = re.compile(r"PINAKES_(TEST_DATA|LOG|KEY|SECRET_.+|SERVICE_.*|PORT(_\d.*)?)")
"""Variables that are read elsewhere, or set by container runtimes for a service called pinakes."""

OWN_FILES = ("config.toml", "config.yaml", "config.local.yaml")
"""Settings files that a home may have."""
_EXPLAINED = "Without it, `pinakes config` explains it; so does docs/settings.md."
_TEXTS = {"home": "a path", "cache": "a path", "profile": "a name or a path"}
"""Settings that are needed before all layers are merged and validated."""


@dataclass(frozen=True, slots=True)
class SettingLine:
    """A setting: its dotted name, its variable, default, value and help."""

    name: str
    variable: str
    default: JSON
    value: JSON
    help: str


def load(
    *,
    home: Path | str | None = None,
    profile: str | None = None,
    environment: Mapping[str, str] | None = None,
    **overrides: Any,
) -> Settings:
    """Merge the layers. ``overrides`` are dotted names with ``__`` for the dot, or whole sections.

    Removed settings are ignored with a warning.

    Raises:
        InvalidSetting: a name is unknown or a value invalid, in any layer.
        InvalidName: the profile does not exist.
    """
    chosen_home, chosen_profile, layers = layers_of(home, profile, environment, overrides)
    merged: dict[str, Any] = {}
    for origin, layer in layers:
        merged = merge_layers(merged, without_removed(layer, origin))
    merged |= {"home": chosen_home, "profile": chosen_profile}
    merged |= _with_rules_of_profiles(merged)
    merged |= _with_declared(merged)
    merged["cache"] = Path(merged.get("cache") or Settings.model_fields["cache"].default).expanduser().absolute()
    try:
        return Settings.model_validate(merged)
    except ValidationError as error:
        raise _invalid(error) from error


def layers_of(
    home: Path | str | None = None,
    profile: str | None = None,
    environment: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> tuple[Path, str, list[tuple[str, Mapping[str, Any]]]]:
    """Return home, profile, and (origin, settings) of each layer; a later one wins. Arguments as in ``load``.

    Raises:
        InvalidSetting: a layer cannot be read, or names a setting that there is not.
        InvalidName: the profile does not exist.
    """
    env = _from_environment(os.environ if environment is None else environment)
    chosen_home = Path(home or env.get("home") or Settings.model_fields["home"].default).expanduser().absolute()
    if as_utf8(str(chosen_home)) != str(chosen_home):
        raise InvalidSetting(
            f"The home '{as_utf8(str(chosen_home))}' is not valid UTF-8.", hint="Rename the folder, or use another."
        )
    own = [(str(file), read_file(file)) for name in OWN_FILES if (file := chosen_home / name).is_file()]
    named = next((layer["profile"] for _, layer in reversed(own) if layer.get("profile")), "")
    chosen = profile or env.get("profile") or named
    layers: list[tuple[str, Mapping[str, Any]]] = [
        *own,
        (".env", _from_dotenv(chosen_home, chosen) if environment is None else {}),
        ("environment", env),
        ("arguments", _nest(overrides or {})),
    ]
    for origin, layer in layers:
        _check_names(layer, origin)
    if chosen:
        layers.insert(0, (f"profile {chosen}", read_profile(chosen)))
    return chosen_home, chosen, layers


def sources_folder(home: Path, sources_dir: Path | str | None = None) -> Path:
    """Return the folder of the YAML documents that declare sources."""
    default: Path = Settings.model_fields["sources_dir"].default
    return home / Path(sources_dir or default).expanduser()


def _with_declared(merged: Mapping[str, Any]) -> dict[str, Any]:
    """Return the sources of the settings and of the folder ``sources_dir``; errors in the folder are only logged."""
    named, given = merged.get("sources_dir"), merged.get("sources", ())
    if not isinstance(named, str | Path | None) or not isinstance(given, list | tuple):
        return {}  # reported by the validation of all settings
    found = knowledge_sources.read_folder(sources_folder(merged["home"], named))
    found.keep_apart(_names(merged, given))
    for one in found.refused:
        _log.warning("%s is left out: %s", one.origin, one.reason)
    declared = [{**one.source, "open_network_only": True} for one in found.declared]  # they may be written by others
    return {"sources": [*given, *declared]} if declared else {}


def _names(merged: Mapping[str, Any], given: Iterable[Any]) -> set[str]:
    """Return the names of sources, as far as they are usable, before validation."""
    rules = merged.get("collections")
    own = rules.values() if isinstance(rules, Mapping) else ()
    every = [*given, *(one for rule in own if isinstance(rule, Mapping) for one in rule.get("sources") or ())]
    return {str(one["name"]) for one in every if isinstance(one, Mapping) and one.get("name")}


def read_profile(name: str) -> dict[str, Any]:
    """Return the settings of a shipped profile, or of the file at the path ``name``.

    Raises:
        InvalidName: there is no such profile or file.
        InvalidSetting: it cannot be read, or names an unknown setting.
    """
    if name.endswith((".toml", ".yaml", ".yml")):
        path = Path(name).expanduser()
        if not path.is_file():
            raise InvalidName(f"Profile file {name!r} does not exist.", hint="Check the path.")
        found, origin = read_file(path), name
        local = path.with_name(f"{path.stem}.local{path.suffix}")
        if local.is_file():
            own = read_file(local)
            _check_names(own, str(local))
            found = merge_layers(found, own)
    elif name in profiles():
        shipped = resources.files("pinakes.profiles").joinpath(f"{name}.toml")
        found, origin = tomllib.loads(shipped.read_text("utf-8")), f"profile {name}"
    else:
        raise InvalidName(
            f"There is no profile {name!r}.", hint=f"Shipped: {', '.join(profiles())}. Or give a path to a TOML file."
        )
    _check_names(found, origin)
    return found


def own_rules(profile: Mapping[str, Any]) -> dict[str, Any]:
    """Return the settings of a profile's own collection, that which its setting ``collection`` names; else none.

    Its sources have no names, since another collection may have the same ones.
    """
    rules = dict(profile.get("collections", {}).get(profile.get("collection"), {}))
    if sources := rules.get("sources"):
        rules["sources"] = [{key: value for key, value in one.items() if key != "name"} for one in sources]
    return rules


def _with_rules_of_profiles(merged: Mapping[str, Any]) -> dict[str, Any]:
    """Put the rules of a profile below the settings of each collection that names one.

    Raises:
        InvalidName: the profile does not exist.
        InvalidSetting: it has no collection of its own.
    """
    every = merged.get("collections")
    if not isinstance(every, Mapping):
        return {}  # reported by the validation of all settings
    found = dict(every)
    for name, own in every.items():
        named = own.get("profile") if isinstance(own, Mapping) else None
        if named and isinstance(named, str):
            rules = own_rules(read_profile(named))
            if not rules:
                raise InvalidSetting(
                    f"Setting 'collections.{name}.profile' is {named!r}, which has no collection of its own.",
                    hint=f"Name it for all settings instead: --profile {named}",
                )
            found[name] = merge_layers(rules, own)
    return {"collections": found}


def profiles() -> list[str]:
    """Return the names of the shipped profiles."""
    entries = resources.files("pinakes.profiles").iterdir()
    return sorted(entry.name.removesuffix(".toml") for entry in entries if entry.name.endswith(".toml"))


def table(settings: Settings | None = None) -> Iterator[SettingLine]:
    """Yield every plain setting with its variable, default, help, and value in ``settings``."""
    yield from _lines(Settings, settings, "")


def _lines(model: type[BaseModel], values: BaseModel | None, prefix: str) -> Iterator[SettingLine]:
    for name, info in model.model_fields.items():
        value = getattr(values, name) if values is not None else info.default
        if isinstance(info.default, Section):
            yield from _lines(type(info.default), value, f"{prefix}{name}.")
        elif name not in ("collections", "sources", "tools", "webhooks"):
            dotted = prefix + name
            if dotted in _ADDRESSES and isinstance(value, str):
                value = without_password(value)
            yield SettingLine(dotted, _variable(dotted), info.default, value, info.description or "")


_ADDRESSES = frozenset({"catalog.url", "catalog.direct_url"})


def _variable(name: str) -> str:
    return ENV_PREFIX + name.upper().replace(".", "__")


def _from_dotenv(home: Path, profile: object) -> dict[str, Any]:
    """Return the settings in ``.env`` files. Home and profile are determined before these are read."""
    found = _from_environment(dotenv.read(home, profile if isinstance(profile, str) else ""), ".env")
    for name in ("home", "profile"):
        if name in found:
            raise InvalidSetting(
                f"{ENV_PREFIX}{name.upper()} cannot be set in a file .env: it says where that file is.",
                hint="Set it in the environment.",
            )
    return found


def _from_environment(environment: Mapping[str, str], origin: str = "environment") -> dict[str, Any]:
    known = {line.variable: line for line in table()}
    removed = {_variable(name): name for name in REMOVED}
    found: dict[str, Any] = {}
    for variable, text in environment.items():
        if not variable.startswith(ENV_PREFIX) or _NOT_OURS.fullmatch(variable):
            continue
        if variable in removed:
            found[removed[variable].replace(".", "__")] = text
        elif variable in known:
            found[known[variable].name.replace(".", "__")] = written(known[variable].default, text)
        else:
            raise unknown(variable, list(known), origin)
    return _nest(found)


def written(default: JSON, text: str) -> str | list[str]:
    """Return ``text`` in the form of a setting with this default; a list is comma-separated, or as in TOML."""
    if not isinstance(default, tuple):
        return text
    with suppress(tomllib.TOMLDecodeError):
        values: object = tomllib.loads(f"list = {text}")["list"]
        if isinstance(values, list):
            return [str(one) for one in values]
    return split_list(text)


def structured(text: str) -> JSON:
    """Return ``text`` as the list or table that it is in JSON or TOML; else as it is."""
    with suppress(ValueError, RecursionError):
        found: JSON = json.loads(text)
        if isinstance(found, list | dict):
            return found
    with suppress(tomllib.TOMLDecodeError, RecursionError):
        value: JSON = tomllib.loads(f"value = {text}")["value"]
        if isinstance(value, list | dict):
            return value
    return text


def _nest(flat: Mapping[str, Any]) -> dict[str, Any]:
    nested: dict[str, Any] = {}
    for name, value in flat.items():
        *parents, last = name.split("__")
        place = nested
        for parent in parents:
            place = place.setdefault(parent, {})
        known = place.get(last)
        place[last] = merge_layers(known, value) if isinstance(known, dict) and isinstance(value, dict) else value
    return nested


def read_file(path: Path) -> dict[str, Any]:
    """Return the settings in a file.

    Raises:
        InvalidSetting: it cannot be read, or is not a table of settings.
    """
    try:
        text = path.read_text("utf-8-sig")
        data = tomllib.loads(text) if path.suffix == ".toml" else _parse_yaml(text)
    except (OSError, ValueError) as error:
        raise InvalidSetting(f"{path} cannot be read: {error}.", hint="Mend or remove the file.") from error
    if not isinstance(data, dict):
        raise InvalidSetting(f"{path} does not hold a table of settings.", hint="See `pinakes config` for the names.")
    return data


def _parse_yaml(text: str) -> Any:
    import yaml

    try:
        return yaml.safe_load(text) or {}
    except yaml.YAMLError as error:
        raise ValueError(str(error)) from error


def _check_names(layer: Mapping[str, Any], origin: str, model: type[BaseModel] = Settings, prefix: str = "") -> None:
    for name, value in layer.items():
        if not prefix and name in _TEXTS and not isinstance(value, str | Path):
            raise InvalidSetting(
                f"Setting {name!r} cannot be {shortened(value)} ({origin}): it has to be {_TEXTS[name]}.",
                hint="Put it in quotes.",
            )
        if f"{prefix}{name}" in REMOVED:
            continue
        info: FieldInfo | None = model.model_fields.get(name)
        if info is None:
            raise unknown(f"{prefix}{name}", [prefix + known for known in model.model_fields], origin)
        if isinstance(info.default, Section) and isinstance(value, Mapping):
            _check_names(value, origin, type(info.default), f"{prefix}{name}.")


def _invalid(error: ValidationError) -> InvalidSetting:
    first = error.errors()[0]
    path = [str(part) for part in first["loc"] if part != "[key]"]
    name = ".".join(path)
    if first["type"] == "extra_forbidden":
        known = {
            field
            for model in (CollectionSettings, PlacedSource, BoostRule, MetadataRule, NamedSearch, WebhookSettings)
            for field in model.model_fields
        }
        return unknown(name, [".".join([*path[:-1], field]) for field in sorted(known)])
    endless = name.endswith("_s") and first["type"] in ("told", "float_type", "float_parsing")
    longest = f"A number of seconds; {LONGEST_S}, which is 23 days, is as good as no limit. " if endless else ""
    return InvalidSetting(f"Setting {name or 'sources'!r} {refusal(first)}.", hint=longest + _EXPLAINED)
