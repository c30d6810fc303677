"""Build files: symbols of the configuration (Kconfig, make), and maintainers of files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import PurePosixPath
from typing import Final

from pinakes.core.graph_records import (
    CONFIG,
    FILE,
    SUBSYSTEM,
    EntityName,
    ExtractionSubject,
    Findings,
    Mention,
    StatedRelation,
)
from pinakes.settings import GraphRules

EXTRACTOR: Final = "code:build"
MAX_STATEMENTS: Final = 20_000

_MENU: Final = re.compile(r"^[ \t]*(?:menu)?config[ \t]+(?P<name>\w{1,150})[ \t]*$", re.MULTILINE)
_CLAUSE: Final = re.compile(r"^[ \t]+(?P<kind>depends on|select|imply)[ \t]+(?P<what>[^\n#]{1,500})", re.MULTILINE)
_SYMBOL: Final = re.compile(r"\b[A-Z0-9_]{0,150}[A-Z][A-Z0-9_]{0,150}\b")
_USED: Final = re.compile(r"\bCONFIG_\w{1,150}")
_SECTION: Final = re.compile(r"^(?P<name>[A-Z0-9][^\n\t]{1,120})\n(?=[A-Z]:\t)", re.MULTILINE)
_FIELD: Final = re.compile(r"^F:\t(?P<path>\S{1,200})[ \t]*$", re.MULTILINE)
_RELATIONS: Final = {"depends on": "DEPENDS_ON", "select": "SELECTS", "imply": "SELECTS"}


class BuildFiles:
    """Finds the statements of Kconfig files, makefiles and MAINTAINERS, and the folders of files. Time is linear."""

    def __init__(self, rules: GraphRules) -> None:
        self._types = frozenset(rules.types)
        self.fingerprint = f"build:1 {sorted(self._types)!r}"

    def extract(self, subject: ExtractionSubject) -> Findings:
        """Return what such a file says; of each other file only that it is there."""
        text, path = subject.document.text, subject.path
        file = EntityName(FILE, path)
        found: dict[tuple[EntityName, str, EntityName], StatedRelation] = {}
        left_out = 0
        for one in (*self._folders(file), *self._stated(file, subject.document.language, text)):
            if len(found) >= MAX_STATEMENTS:
                left_out += 1
            elif self._types >= {one.source.type, one.target.type}:
                found.setdefault((one.source, one.type, one.target), one)
        mentions = [Mention(file, 0, 0, 1.0, EXTRACTOR)] if FILE in self._types else []
        defined = [
            Mention(one.target, one.start, one.end, 1.0, EXTRACTOR) for one in found.values() if one.type == "DEFINES"
        ]
        return Findings([*mentions, *defined], list(found.values()), left_out=left_out)

    def _folders(self, file: EntityName) -> Iterator[StatedRelation]:
        """Yield in which folders a file is, where subsystems are known by their folders."""
        if SUBSYSTEM not in self._types:
            return
        inner = file
        for folder in PurePosixPath(file.name).parents:
            if str(folder) != ".":
                outer = EntityName(FILE, f"{folder}/")
                yield StatedRelation(inner, "PART_OF", outer, 0, 0, 1.0, EXTRACTOR)
                inner = outer

    def _stated(self, file: EntityName, language: str | None, text: str) -> Iterator[StatedRelation]:
        if language == "kconfig":
            yield from _of_menu(file, text)
        elif language == "makefile":
            for found in _USED.finditer(text):
                yield _stated(file, "USES", EntityName(CONFIG, found[0]), text, found.start())
        elif PurePosixPath(file.name).name == "MAINTAINERS":
            yield from _of_maintainers(file, text)


def _of_menu(file: EntityName, text: str) -> Iterator[StatedRelation]:
    for menu, end in _until_next(_MENU, text):
        name = EntityName(CONFIG, f"CONFIG_{menu['name']}")
        yield _stated(file, "DEFINES", name, text, menu.start())
        for clause in _CLAUSE.finditer(text, menu.end(), end):
            what = clause["what"].partition(" if ")[0]
            for symbol in _SYMBOL.findall(what):
                other = EntityName(CONFIG, f"CONFIG_{symbol}")
                if other != name:
                    yield _stated(name, _RELATIONS[clause["kind"]], other, text, clause.start("kind"))


def _of_maintainers(file: EntityName, text: str) -> Iterator[StatedRelation]:
    for section, end in _until_next(_SECTION, text):
        subsystem = EntityName(SUBSYSTEM, section["name"].strip())
        yield _stated(file, "DEFINES", subsystem, text, section.start())
        for found in _FIELD.finditer(text, section.end(), end):
            path = found["path"].removesuffix("*")
            if not re.search(r"[*?\[]", path):
                yield _stated(EntityName(FILE, path), "PART_OF", subsystem, text, found.start())


def _until_next(pattern: re.Pattern[str], text: str) -> Iterator[tuple[re.Match[str], int]]:
    """Yield each match, with where the next one begins, or the text ends."""
    for found, following in pairwise([*pattern.finditer(text), None]):
        if found is not None:
            yield found, following.start() if following else len(text)


def _stated(source: EntityName, kind: str, target: EntityName, text: str, at: int) -> StatedRelation:
    end = text.find("\n", at)
    return StatedRelation(source, kind, target, at, len(text) if end < 0 else end, 1.0, EXTRACTOR)
