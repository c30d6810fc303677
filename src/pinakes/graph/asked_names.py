"""Names as callers write them: with a type before a colon, without the sign of people or symbols, by a number."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from typing import Final

from pinakes.core.errors import InvalidInput
from pinakes.core.graph_records import CLASS, CODE_TYPES, DOCUMENT, FUNCTION, MACRO, STRUCT, TOPIC, folded
from pinakes.extraction.declared_names import filled, names_in
from pinakes.extraction.document_links import DocumentLinks
from pinakes.graph.canonical import DOMAIN, LEGAL
from pinakes.settings import GraphRules
from pinakes.settings.graph_rules import compiled

_TYPE: Final = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,63}")
_MOST_TOLD: Final = 60
_AS_CODE: Final = re.compile(r"(?:(?P<word>struct|union|enum|class|interface|trait) +)?(?P<name>[^\s()]+)(?:\(\))?")
_WORDS_OF_CODE: Final = {
    **dict.fromkeys(("struct", "union", "enum"), (STRUCT, CLASS)),
    **dict.fromkeys(("class", "interface", "trait"), (CLASS, STRUCT)),
}


def types_of(rules: GraphRules) -> list[str]:
    """Return the types of entities that a graph by ``rules`` has, those of its form last."""
    made = [name for name, on in ((DOCUMENT, rules.links), (TOPIC, rules.topics)) if on]
    return [*rules.types, *made]


def known_names(given: Collection[str], known: Collection[str], what: str) -> list[str]:
    """Return names of types or relations as they are known, whatever the case that a caller gave them in.

    Raises:
        InvalidInput: one is not known; the known ones are named.
    """
    by_fold = {one.casefold(): one for one in known}
    found: list[str] = []
    for one in given:
        name = by_fold.get(one.strip().casefold())
        if name is None:
            every = sorted(known)
            more = f" and {len(every) - _MOST_TOLD} more" if len(every) > _MOST_TOLD else ""
            there = f"There are {', '.join(every[:_MOST_TOLD])}{more}." if every else "There is none."
            raise InvalidInput(f"There is no {what} {one[:100]!r}.", hint=there)
        if name not in found:
            found.append(name)
    return found


def apart(name: str, known: Collection[str]) -> tuple[str, str]:
    """Return the type and the name of ``TYPE:NAME``, the type in any case; ("", ``name``) where no type is named."""
    kind, colon, rest = name.strip().partition(":")
    if colon and rest.strip():
        by_fold = {one.casefold(): one for one in known}
        if found := by_fold.get(kind.strip().casefold()):
            return found, rest.strip()
    return "", name.strip()


def unknown_type(name: str) -> str:
    """Return what stands before the colon of a name where it looks like a type: capitals; "" elsewhere."""
    kind, colon, rest = name.strip().partition(":")
    return kind if colon and rest.strip() and kind.isupper() and _TYPE.fullmatch(kind) else ""


def other_forms(name: str, rules: GraphRules, types: Collection[str]) -> Iterator[tuple[str, str]]:
    """Yield (type, name) for the forms in which entities may have a name: by templates, patterns, without its ends."""
    seen = set[tuple[str, str]]()
    for kind, form in _forms(name, rules):
        if (not types or kind in types) and form != name and (kind, form) not in seen and folded(form):
            seen.add((kind, form))
            yield kind, form


def _forms(name: str, rules: GraphRules) -> Iterator[tuple[str, str]]:
    yield from _referred(name, rules)
    for written in _written(name):
        yield from _forms_of(written, rules)
        if written != name:
            yield from ((kind, written) for kind in rules.types if kind not in CODE_TYPES)


def _written(name: str) -> list[str]:
    """Return a name as it is, what stands before its title or behind ``#``, and with spaces in place of other signs."""
    head, colon, rest = name.partition(": ")
    short = head.strip() if colon and rest.strip() else name.lstrip("#").strip()
    spaced = " ".join(re.split(r"[-_\s]+", short)).strip()
    return [one for one in dict.fromkeys((name, short, spaced, spaced.replace(" ", "-"))) if one]


def _referred(name: str, rules: GraphRules) -> Iterator[tuple[str, str]]:
    """Yield what a name means as a reference to a document: as metadata refers to it, or by the address of a page."""
    of_documents = {one.type for one in rules.documents}
    for rule in rules.metadata:
        if rule.pattern and rule.type in of_documents:
            yield from ((rule.type, one) for one in names_in(rule, name))
    if rules.links and "/" in name:
        yield DOCUMENT, DocumentLinks(rules.link_roots).meant("", name)


def _forms_of(name: str, rules: GraphRules) -> Iterator[tuple[str, str]]:
    for kind, rule in rules.types.items():
        for template in rule.forms:
            yield kind, filled(template, {"name": name})
        if rule.merge:
            yield kind, LEGAL.sub("", DOMAIN.sub("", name.casefold()))
        words: Sequence[str] = name.split()
        if len(words) > 1 and words[-1].casefold() in {one.casefold() for one in rule.suffixes}:
            yield kind, " ".join(words[:-1])
    if rules.code and (written := _AS_CODE.fullmatch(name)):
        kinds = _WORDS_OF_CODE.get(written["word"] or "", (FUNCTION, MACRO))
        yield from ((kind, written["name"]) for kind in kinds)
    for pattern in rules.patterns:
        for one in pattern.pattern:
            if found := compiled(f"(?i){one}").fullmatch(name):
                groups = {key: value for key, value in found.groupdict().items() if value}
                yield pattern.type, (filled(pattern.name, groups) if pattern.name else "") or groups.get("name", "")
