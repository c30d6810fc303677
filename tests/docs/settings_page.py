"""docs/settings.md, made from the settings themselves. To write it anew: ``python tests/docs/settings_page.py``."""

from __future__ import annotations

import json
import typing
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path

from pydantic import BaseModel
from pydantic_core import PydanticUndefined

from pinakes.settings import (
    REMOVED,
    BoostRule,
    CollectionSettings,
    MetadataRule,
    NamedSearch,
    PlacedSource,
    Section,
    SettingLine,
    Settings,
    SourceSettings,
    WebhookSettings,
    table,
)

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"

INTRODUCTION = """\
# Settings

<!-- Made by `python tests/docs/settings_page.py` from src/pinakes/settings. Do not edit. -->

For users who change a setting: where it can stand, which place wins, and every setting with its default.

`pinakes config` shows every setting with its value and where it comes from; `pinakes config search` those of a group;
`pinakes init` writes a `config.toml` with all of them as comments.

Where a setting is given in several places, the later wins:

1. its default
2. the profile (`--profile NAME`, or the setting `profile`): a shipped one, or a path to a TOML or YAML file,
   with `NAME.local.yaml` (or `.toml`) beside it
3. `config.toml`, `config.yaml` and `config.local.yaml` in the home folder
4. `.env` in the folder of the profile file, then that in the home: `PINAKES_…` and the keys of embedding providers
   (`OPENAI_API_KEY`, …: for the commands, not for `Library`), no other names; no other folder has one that is read
5. the environment: `PINAKES_`, then the name in capitals, two underscores for a dot
6. `--set NAME=VALUE`, and options of their own such as `--home` and `--port`

```console
$ pinakes config search.top_k
$ pinakes search "keys" --set search.top_k=3
$ PINAKES_SEARCH__TOP_K=3 pinakes search "keys"
```

The same in a file:

```toml
collection = "handbook"

[search]
top_k = 3
```

An unknown name is an error, in whichever place; one that was [removed](#removed-settings) only gives a warning.
Lists are written `a,b` in the environment and after `--set`, or as in a file: `["a", "b"]`; tables of a collection in
TOML or JSON: `--set 'collections.wiki.boosts=[{"field": "status", "weight": 0.1}]'`. Secrets have no place in
any of these.

Besides: `PINAKES_LOG` (`debug`, `info`, `warning`, `error`) says how much is logged to stderr; `PINAKES_KEY` is the
[key](security.md#access-control) for servers elsewhere. The model hub's own
`HF_HUB_OFFLINE=1` and `HF_ENDPOINT` are heeded when the model is [fetched](operations.md#the-embedding-model).
"""

TABLES = """\
`sources`, `collections`, `tools` and `webhooks` are tables of tables: they are written in `config.toml` or in a
profile. [kep.toml](../src/pinakes/profiles/kep.toml) has a collection with a source, and a tool.
"""

GONE = """\
## Removed settings

These were settings once. Where one is still given, it is skipped with a warning.

| was | is always |
|---|---|
"""


def page() -> str:
    """Return the page as it should be."""
    parts = [INTRODUCTION]
    for section, lines in groupby(sorted(table(), key=_order), key=_section):
        parts.append(_group(section, list(lines)))
    parts.append(TABLES)
    parts.append(_fields("sources", PlacedSource))
    parts.append(_fields("collections.NAME", CollectionSettings))
    parts.append(_fields("collections.NAME.sources", SourceSettings))
    parts.append(_fields("collections.NAME.boosts", BoostRule))
    parts.append(_fields("collections.NAME.metadata_rules", MetadataRule))
    parts.append(_fields("tools", NamedSearch))
    parts.append(_fields("webhooks", WebhookSettings))
    parts.append(GONE + "".join(f"| `{name}` | `{json.dumps(REMOVED[name])}` |\n" for name in REMOVED))
    return "\n".join(parts)


def _section(line: SettingLine) -> str:
    return line.name.rpartition(".")[0]


def _order(line: SettingLine) -> int:
    sections = ["", *(name for name, info in Settings.model_fields.items() if isinstance(info.default, Section))]
    return sections.index(_section(line))


def _group(section: str, lines: list[SettingLine]) -> str:
    model: type[BaseModel] = type(Settings.model_fields[section].default) if section else Settings
    rows = [(line.name, _value(line.default), _with_choices(line.help, model, line.name)) for line in lines]
    about = (model.__doc__ or "") if section else "Those that belong to no group."
    return _titled(section or "General", about, rows)


def _fields(title: str, model: type[BaseModel]) -> str:
    rows = []
    for name, info in model.model_fields.items():
        default = "(required)" if info.default is PydanticUndefined else _value(info.default)
        rows.append((name, default, _with_choices(info.description or "", model, name)))
    return _titled(title, model.__doc__ or "", rows)


def _titled(title: str, about: str, rows: list[tuple[str, str, str]]) -> str:
    lines = [f"## {title}", "", about.splitlines()[0], "", "| setting | default | meaning |", "|---|---|---|"]
    return "\n".join([*lines, *(_row(row) for row in rows), ""])


def _row(cells: tuple[str, str, str]) -> str:
    name, default, meaning = (cell.replace("|", "\\|") for cell in cells)
    return f"| `{name}` | {default if default.startswith('(') else f'`{default}`'} | {meaning} |"


def _value(default: object) -> str:
    if default is None or default == "" or default == ():
        return "(none)"
    if isinstance(default, bool):
        return str(default).lower()
    if isinstance(default, tuple):
        return ",".join(map(str, default))
    return str(default)


def _with_choices(meaning: str, model: type[BaseModel], name: str) -> str:
    """Return ``meaning``, with the values the setting can have where they are few and not named yet."""
    hint = typing.get_type_hints(model)[name.rpartition(".")[2]]
    choices = [str(value) for value in _choices(hint)]
    if not choices or all(choice in meaning for choice in choices):
        return meaning
    return f"{meaning} One of {', '.join(f'`{choice}`' for choice in choices)}."


def _choices(hint: object) -> Iterator[object]:
    if typing.get_origin(hint) is typing.Literal:
        yield from typing.get_args(hint)


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
