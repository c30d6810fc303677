"""The graph of source code: definitions, calls, imports, base classes, uses of configuration symbols.

A function that its file alone sees is named with it: ``helper@fs/inode.c``. What other files see by its bare name, such
as a function of C without ``static``, or what a header defines, has that name, and may be defined in several files.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Final

import numpy as np

from pinakes.core.graph_records import (
    CLASS,
    CONFIG,
    FILE,
    FUNCTION,
    MACRO,
    MAX_NAME_CHARS,
    STRUCT,
    EntityName,
    ExtractionSubject,
    Findings,
    Mention,
    StatedRelation,
)
from pinakes.core.records import Int64
from pinakes.extraction.code_references import ANYWHERE, SELF, imports_of, parents_of, referred
from pinakes.extraction.code_syntax import KEYWORDS, SEPARATORS, Definition, Syntax, innermost, syntax_of
from pinakes.settings import GraphRules
from pinakes.text.syntax_trees import LANGUAGES, encoded, forget_tree, is_minified, tree_of

CALLS, DEFINES, IMPORTS, INCLUDES, INHERITS, USES, DOCUMENTS = (
    "CALLS",
    "DEFINES",
    "IMPORTS",
    "INCLUDES",
    "INHERITS",
    "USES",
    "DOCUMENTS",
)
EXTRACTOR: Final = "code"
MAX_CODE_RELATIONS: Final = 20_000
"""So many relations of a file of code are kept, the first ones."""

_RANKS: Final = {STRUCT: 0, CLASS: 0, MACRO: 1, FUNCTION: 2}
"""Of namesakes in one file a call means the function before the macro before the type."""

OWN, OTHER, POINTER = 1.0, 0.9, 0.3
"""How sure a call is: of what the file defines, of what another does, of what a variable holds."""

_MOST_WORDS: Final = 300
_HEADER: Final = re.compile(r"\.(?:h|hh|hpp|hxx|inc|inl|ipp|tcc)$")
_WORD: Final = re.compile(rb"\w+")
_POINTERS: Final = re.compile(rb"\(\s{0,20}\*\s{0,20}(?:const\s{1,20})?(\w+)\s*+(?:\[[^\]\n]{0,40}\]\s*+)?\)\s*+\(")
_CALLED: Final = re.compile(rb"\b([A-Za-z_]\w*)\s*\(")
_COMMENTED: Final = re.compile(r"/\*\*[ \t]*\n[ \t]*\*[ \t]*(?:(?:struct|union|enum|typedef)[ \t]+)?(?P<name>\w+)")
_CONFIG: Final = re.compile(r"CONFIG_\w+")
_MEMBER: Final = re.compile(r"(?:->|\.)\s*(\w+)$")
_log = logging.getLogger(__name__)


class CodeGraph:
    """Finds what files of code say, by the syntax trees that their chunks were cut by. Time is linear."""

    def __init__(self, rules: GraphRules) -> None:
        self._types = frozenset(rules.types)
        self.fingerprint = f"code:2 {sorted(self._types)!r}"

    def extract(self, subject: ExtractionSubject) -> Findings:
        """Return the findings of a file of code; nothing for other documents."""
        document = subject.document
        if document.kind != "code" or document.language not in LANGUAGES:
            return Findings()
        text, language = document.text, document.language
        if is_minified(text, text.count("\n") + 1):
            return Findings(problems=("its lines are those of minified or generated code: no definitions, no calls",))
        try:
            tree = tree_of(text, language)
        except ImportError as error:
            return Findings(problems=(f"no grammar for {language}: {error}",))
        if tree is None:
            return Findings(problems=("it is no code that can be parsed: no definitions, no calls",))
        source = encoded(text)
        syntax = syntax_of(tree.root_node, source, language)
        del tree
        forget_tree()
        return _File(subject.path, text, source, language, syntax, self._types).findings()


@dataclass(slots=True)
class _File:
    """One file while its findings are put together."""

    path: str
    text: str
    source: bytes
    language: str
    syntax: Syntax
    types: frozenset[str]
    offsets: Int64 | None = None
    own: dict[str, EntityName] = field(default_factory=dict)
    found: dict[tuple[str, str, str, str, str], StatedRelation] = field(default_factory=dict)

    def findings(self) -> Findings:
        if len(self.source) != len(self.text):
            starts = (np.frombuffer(self.source, np.uint8) & 0xC0) != 0x80
            self.offsets = np.cumsum(starts, dtype=np.int64) - 1
        file = EntityName(FILE, self.path)
        entities, mentions = self._definitions()
        for one, entity in zip(self.syntax.definitions, entities, strict=True):
            if entity is not None:
                self._add(file, DEFINES, entity, one.at, OWN)
        imported = self._imports(file)
        if self.language in ("c", "cpp"):
            self._calls_of_c(entities)
            self._calls_of_macros(entities)
            self._uses(file, entities)
            self._comments(file)
        if self.language != "c":
            self._other_calls(file, entities, imported)
            self._parents(entities, imported)
        relations = [one for one in self.found.values() if self.types >= {one.source.type, one.target.type}]
        mentions = [Mention(file, 0, 0, OWN, EXTRACTOR), *mentions]
        kept = relations[:MAX_CODE_RELATIONS]
        left_out = self.syntax.left_out + len(relations) - len(kept)
        return Findings([one for one in mentions if one.entity.type in self.types], kept, left_out=left_out)

    def _definitions(self) -> tuple[list[EntityName | None], list[Mention]]:
        """Return the entity of each definition, and where each is mentioned; fill ``own``."""
        global_names = self.language in ("c", "cpp")
        in_header = global_names and _HEADER.search(self.path) is not None
        entities: list[EntityName | None] = []
        mentions: dict[tuple[str, str], Mention] = {}
        for one in self.syntax.definitions:
            if not one.kind:
                entities.append(None)
                continue
            is_public = global_names and (in_header or (one.kind == FUNCTION and not one.static and one.name != "main"))
            name = one.name if is_public else _within(one.name, self.path)
            entity = EntityName(one.kind, name)
            entities.append(entity)
            for written in dict.fromkeys((one.name, one.simple)):
                known = self.own.get(written)
                if known is None or _RANKS[known.type] < _RANKS[one.kind]:
                    self.own[written] = entity
            if (one.kind, name) not in mentions:
                at = self._offset(one.at)
                mentions[one.kind, name] = Mention(entity, at, at + len(one.simple), OWN, EXTRACTOR)
        return entities, list(mentions.values())

    def _imports(self, file: EntityName) -> dict[str, tuple[str, str]]:
        imported: dict[str, tuple[str, str]] = {}
        kind = INCLUDES if self.language in ("c", "cpp") else IMPORTS
        for start, end in self.syntax.imports:
            tail, names = imports_of(self._written(start, min(end, start + 20_000)), self.language, self.path)
            imported |= names
            for module in dict.fromkeys((tail, *(place for place, name in names.values() if not name))):
                if module:
                    self._add(file, kind, EntityName(FILE, f"*{module}"), start, OTHER)
        return imported

    def _calls_of_c(self, entities: Sequence[EntityName | None]) -> None:
        source, definitions, own = self.source, self.syntax.definitions, self.own
        held: dict[int, frozenset[bytes]] = {}
        for start, end, number in innermost(definitions, self.syntax.calls):
            caller = entities[number] if number >= 0 else None
            if caller is None or caller.type != FUNCTION:
                continue
            written = source[start:end]
            if not _WORD.fullmatch(written):
                if self.language == "c":
                    self._pointer(caller, written, start)
                continue
            if number not in held:
                held[number] = _local_names(source, definitions[number])
            name = written.decode()
            if written in held[number]:
                self._add(caller, CALLS, EntityName(FUNCTION, f"->{name}"), start, POINTER)
                continue
            target = own.get(name)
            sure = OWN
            if target is None or target.type == STRUCT:
                target, sure = EntityName(FUNCTION, name), OTHER
            self._add(caller, CALLS, target, start, sure)

    def _pointer(self, caller: EntityName, written: bytes, start: int) -> None:
        """Note a call of what a field holds: nobody knows which function that is."""
        if member := _MEMBER.search(written[-MAX_NAME_CHARS:].decode("utf-8", "replace")):
            self._add(caller, CALLS, EntityName(FUNCTION, f"->{member[1]}"), start, POINTER)

    def _calls_of_macros(self, entities: Sequence[EntityName | None]) -> None:
        """Note what the replacement of a macro with arguments calls."""
        for one, entity in zip(self.syntax.definitions, entities, strict=True):
            if entity is None or entity.type != MACRO:
                continue
            begin = one.at + len(one.simple)
            if self.source[begin : begin + 1] != b"(":
                continue
            begin = self.source.find(b")", begin, one.end)
            held = frozenset(_WORD.findall(self.source, one.at, begin)) | KEYWORDS
            for call in _CALLED.finditer(self.source, begin, one.end) if begin > 0 else ():
                if call[1] not in held and len(call[1]) <= MAX_NAME_CHARS:
                    name = call[1].decode()
                    target = self.own.get(name)
                    self._add(entity, CALLS, target or EntityName(FUNCTION, name), call.start(1), OTHER)

    def _other_calls(
        self, file: EntityName, entities: Sequence[EntityName | None], imported: dict[str, tuple[str, str]]
    ) -> None:
        separator = SEPARATORS.get(self.language, ".")
        definitions = self.syntax.definitions
        for start, end, number in innermost(definitions, self.syntax.calls):
            scope, caller = self._around(definitions, entities, number, file)
            written = _callee(self._written(start, min(end, start + 2_000)), self.language)
            if not written or (self.language == "cpp" and separator not in written and caller.type == FUNCTION):
                continue  # calls_of_c has it
            target, sure = self._target_of_call(written, scope, separator, imported)
            self._add(caller, CALLS, target, start, sure)
        for start, end, number in innermost(definitions, self.syntax.macros):
            _, caller = self._around(definitions, entities, number, file)
            name = self._written(start, end)
            known = self.own.get(name)
            if known is not None and known.type == MACRO:
                self._add(caller, CALLS, known, start, OWN)
            else:
                self._add(caller, CALLS, EntityName(MACRO, f"{name}{ANYWHERE}"), start, OTHER)

    def _around(
        self, definitions: Sequence[Definition], entities: Sequence[EntityName | None], number: int, file: EntityName
    ) -> tuple[str, EntityName]:
        """Return the scope of a place and what it is in: a function, a class or the file."""
        entity = entities[number] if number >= 0 else None
        scope = definitions[number].scope if number >= 0 else ""
        return scope, entity if entity is not None else file

    def _target_of_call(
        self, written: str, scope: str, separator: str, imported: dict[str, tuple[str, str]]
    ) -> tuple[EntityName, float]:
        """Return what a call means: of the file itself, of a module that it imports, or what a variable holds."""
        parts = written.split(separator)
        if parts[0] in SELF and len(parts) == 2 and scope:
            known = self.own.get(f"{scope}{separator}{parts[1]}")
            if known is not None:
                return known, OWN
            return EntityName(FUNCTION, _within(f"{scope}{separator}{parts[1]}", self.path)), OTHER
        if written in imported:
            kind = CLASS if written[:1].isupper() and self.language != "go" else FUNCTION
            target = referred(written, imported, self.language, separator, self._folder())
            return EntityName(kind, target or written), OTHER
        names = [written]
        if scope and len(parts) == 1:
            outer = scope.split(separator)
            names = [separator.join([*outer[:at], written]) for at in range(len(outer), -1, -1)]
        for name in names:
            known = self.own.get(name) if len(parts) > 1 or name != written or self._is_plain(name) else None
            if known is not None and known.type != MACRO:
                return known, OWN
        target = referred(written, imported, self.language, separator, self._folder())
        if target is None:
            return EntityName(FUNCTION, f"{separator}{parts[-1]}"), POINTER
        return EntityName(FUNCTION, target), OTHER

    def _is_plain(self, name: str) -> bool:
        """Say whether a bare name means a definition of the file that is in no class."""
        known = self.own.get(name)
        return known is not None and known.name.partition("@")[0] == name

    def _folder(self) -> str:
        folder = str(PurePosixPath(self.path).parent)
        return "" if folder == "." else folder

    def _parents(self, entities: Sequence[EntityName | None], imported: dict[str, tuple[str, str]]) -> None:
        separator = SEPARATORS.get(self.language, ".")
        for start, end, number in innermost(self.syntax.definitions, sorted(self.syntax.parents)):
            entity = entities[number] if number >= 0 else None
            if entity is None or entity.type not in (CLASS, STRUCT):
                continue
            for name in parents_of(self._written(start, min(end, start + 2_000)), self.language):
                known = self.own.get(name)
                if known is not None:
                    self._add(entity, INHERITS, known, start, OWN)
                elif self.language == "cpp":
                    self._add(entity, INHERITS, EntityName(CLASS, name), start, OTHER)
                else:
                    target = referred(name, imported, self.language, separator, self._folder())
                    self._add(entity, INHERITS, EntityName(CLASS, target or name), start, OTHER)

    def _uses(self, file: EntityName, entities: Sequence[EntityName | None]) -> None:
        """Note which functions, or else the file, depend on which symbols of the configuration."""
        if CONFIG not in self.types:
            return
        spans = (found.span() for found in _CONFIG.finditer(self.text))
        places = [
            (at, end) for at, end in spans if not at or not (self.text[at - 1].isalnum() or self.text[at - 1] == "_")
        ]
        in_bytes = places
        if self.offsets is not None and places:
            firsts = np.searchsorted(self.offsets, [start for start, _ in places])
            in_bytes = [(int(at), int(at) + 1) for at in firsts]
        around = innermost(self.syntax.definitions, in_bytes)
        for (start, end), (at, _, number) in zip(places, around, strict=True):
            entity = entities[number] if number >= 0 else None
            source = entity if entity is not None and entity.type in (FUNCTION, MACRO) else file
            symbol = self.text[start:end].removesuffix("_MODULE")  # CONFIG_X_MODULE: that CONFIG_X is a module
            self._add(source, USES, EntityName(CONFIG, symbol), at, OWN)

    def _comments(self, file: EntityName) -> None:
        """Note which definitions have a kernel-doc comment."""
        for found in _COMMENTED.finditer(self.text) if "/**" in self.text else ():
            known = self.own.get(found["name"])
            if known is not None:
                start, end = found.start("name"), self._line_end(found.start("name"))
                one = StatedRelation(file, DOCUMENTS, known, start, end, OWN, EXTRACTOR)
                self.found.setdefault((file.name, file.type, DOCUMENTS, known.name, known.type), one)

    def _add(self, source: EntityName, kind: str, target: EntityName, at: int, sure: float) -> None:
        """Note a relation that the line of byte ``at`` states; the first place of each counts."""
        key = (source.name, source.type, kind, target.name, target.type)
        if key in self.found:
            return
        place = self._offset(at)
        start = self.text.rfind("\n", 0, place) + 1
        start = max(start, place - _MOST_WORDS // 2)
        while start < place and self.text[start] in " \t":
            start += 1
        self.found[key] = StatedRelation(source, kind, target, start, self._line_end(place), sure, EXTRACTOR)

    def _line_end(self, place: int) -> int:
        most = min(len(self.text), place + _MOST_WORDS // 2)
        end = self.text.find("\n", place, most)
        return max(place + 1, most if end < 0 else end)

    def _offset(self, at: int) -> int:
        return at if self.offsets is None else int(self.offsets[at])

    def _written(self, start: int, end: int) -> str:
        return self.source[start:end].decode("utf-8", "replace")


def _local_names(source: bytes, one: Definition) -> frozenset[bytes]:
    """Return the parameters of a function, and the names that it declares as pointers to functions."""
    begin = source.find(b"{", one.at, one.end)
    begin = one.end if begin < 0 else begin
    held = set(_WORD.findall(source, one.at + len(one.simple), begin))
    if source.find(b"(*", begin, one.end) >= 0:
        held.update(found[1] for found in _POINTERS.finditer(source, begin, one.end))
    return frozenset(held)


def _within(name: str, path: str) -> str:
    """Return the name of what only its file sees; the end of a long path is enough."""
    return f"{name}@{path[-max(MAX_NAME_CHARS - len(name) - 1, 20) :]}"


def _callee(written: str, language: str) -> str:
    """Return the name that a call is of, "" where it is called by no name."""
    if language == "java":
        written = written.removeprefix("new ").strip()
        written = re.split(r"[(<{]", written, maxsplit=1)[0]
    written = re.sub(r"\s+", "", written).replace("?.", ".").replace("->", "::" if language == "cpp" else ".")
    if language == "cpp":
        written = written.replace(".", "::")
    if language == "rust":
        written = re.sub(r"::<.*>$", "", written).replace(".", "::")
    return written if re.fullmatch(r"[\w$#]+(?:(?:\.|::)[\w$#~]+)*", written) and len(written) < 150 else _last(written)


def _last(written: str) -> str:
    """Return a call of something without a name as one of an unknown variable: ``.run`` of ``make().run``."""
    found = re.search(r"(\.|::)(\w+)$", written)
    return f"?{found[1]}{found[2]}" if found else ""


__all__ = ["CodeGraph"]
