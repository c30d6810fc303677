"""Entities that a document declares: the one it is about, those of its metadata, and those of its records."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pinakes.core.filters import glob_matches, normal_name
from pinakes.core.graph_records import (
    MAX_NAME_CHARS,
    EntityName,
    ExtractionSubject,
    Findings,
    Mention,
    StatedRelation,
    folded,
)
from pinakes.core.records import JSON
from pinakes.settings import DocumentEntity, GraphRules, MetadataEntity, RecordEntity
from pinakes.settings.graph_rules import compiled

OTHER_NAME: Final = "documents:alias"
"""The extractor of another name of the entity that a document is about."""

_MOST_VALUES: Final = 1000
_MOST_RECORD_CHARS: Final = 2_000_000
_FIELD: Final = re.compile(r"\{(\w+)(:int)?\}")
_CONFIDENCE: Final = 1.0
STAND_FOR_NOTHING: Final = frozenset({"", "n/a", "na", "none", "nil", "null", "tbd", "todo", "unknown"})
"""Values of metadata that name nothing, case folded."""


def filled(template: str, values: Mapping[str, JSON]) -> str:
    """Return ``template`` with values for its fields, "" where one is missing; ``{number:int}`` without zeros ahead."""
    missing = False

    def value_of(field: re.Match[str]) -> str:
        nonlocal missing
        value = values.get(normal_name(field[1]))
        missing = missing or value in (None, "")
        text = str(value)
        return str(int(text)) if field[2] and text.isdecimal() else text

    made = _FIELD.sub(value_of, template)
    return "" if missing else made


class DeclaredNames:
    """Finds what metadata and records declare. Nothing of it stands in the text: its spans are empty."""

    def __init__(self, rules: GraphRules) -> None:
        self._documents, self._metadata, self._records = rules.documents, rules.metadata, rules.records
        self.fingerprint = f"declared:3 {rules.documents!r} {rules.metadata!r} {rules.records!r}"

    def extract(self, subject: ExtractionSubject) -> Findings:
        """Return the entities that the document declares, and how its own is related to them."""
        values = _values(subject.metadata)
        own, others = next(self._own(subject, values), (None, ()))
        mentions = [_declared(own, "documents")] if own else []
        mentions += [_declared(name, OTHER_NAME) for name in others]
        relations: list[StatedRelation] = []
        for rule in self._metadata:
            if rule.paths and not glob_matches(rule.paths, subject.path):
                continue
            for name in self._named(rule, values):
                mentions.append(_declared(name, f"metadata:{rule.field}"))
                if rule.relation and own and name.key != own.key:
                    source, target = (name, own) if rule.reverse else (own, name)
                    where = f"metadata:{rule.field}"
                    relations.append(StatedRelation(source, rule.relation, target, 0, 0, _CONFIDENCE, where))
        for record in self._records:
            if glob_matches(record.paths, subject.path):
                mentions += [_declared(name, "records") for name in _recorded(record, subject.document.text)]
        return Findings(mentions, relations)

    def _own(
        self, subject: ExtractionSubject, values: Mapping[str, JSON]
    ) -> Iterator[tuple[EntityName, list[EntityName]]]:
        """Yield the entity that the document is about, and its other names."""
        if (rule := _rule_of(self._documents, subject.path, values)) is not None:
            own = EntityName(rule.type, filled(rule.name, values)[:MAX_NAME_CHARS])
            others = [EntityName(rule.type, one) for one in templates_of(rule, values)]
            yield own, [one for one in others if one.key != own.key and len(one.name) <= MAX_NAME_CHARS]

    def _named(self, rule: MetadataEntity, values: Mapping[str, JSON]) -> Iterator[EntityName]:
        for text in _texts(_at(values, rule.field)):
            for name in names_in(rule, text):
                if name and len(name) <= MAX_NAME_CHARS:
                    yield EntityName(rule.type, name)


def names_in(rule: MetadataEntity, text: str) -> Iterator[str]:
    """Yield the name that a value of a metadata field gives; nothing where it gives none."""
    if not rule.pattern:
        yield text
    for pattern in rule.pattern:
        found = compiled(pattern).search(text[:MAX_NAME_CHARS])
        if found:
            groups = {normal_name(key): value for key, value in found.groupdict().items() if value}
            yield (filled(rule.name, groups) if rule.name else "") or str(groups.get("name", ""))
            return


def texts_of(metadata: Mapping[str, JSON], field: str) -> list[str]:
    """Return the texts of a metadata field, as they are written; inner fields with a dot."""
    return list(_texts(_at(_values(metadata), field)))


def titles_of(rules: Sequence[DocumentEntity], path: str, metadata: Mapping[str, JSON]) -> list[str]:
    """Return the titles that find the entity that the document at ``path`` is about."""
    values = _values(metadata)
    rule = _rule_of(rules, path, values)
    made = [" ".join(filled(one, values).split()) for one in rule.titles] if rule is not None else []
    return [one for one in made if folded(one) and len(one) <= MAX_NAME_CHARS]


def _values(metadata: Mapping[str, JSON]) -> dict[str, JSON]:
    return {normal_name(str(key)): value for key, value in metadata.items()}


def _rule_of(rules: Sequence[DocumentEntity], path: str, values: Mapping[str, JSON]) -> DocumentEntity | None:
    """Return the rule that names the entity that a document is about; None where none does."""
    fitting = (one for one in rules if not one.paths or glob_matches(one.paths, path))
    return next((one for one in fitting if filled(one.name, values)), None)


def templates_of(rule: DocumentEntity, values: Mapping[str, JSON]) -> list[str]:
    """Return the other names of the entity of a document."""
    return [name for template in rule.aliases if (name := filled(template, values))]


def _declared(name: EntityName, extractor: str) -> Mention:
    return Mention(name, 0, 0, _CONFIDENCE, extractor)


def _at(values: Mapping[str, JSON], field: str) -> JSON:
    first, dot, rest = normal_name(field).partition(".")
    value = values.get(normal_name(field), values.get(first) if dot else None)
    if dot and isinstance(value, list):
        return [_at({normal_name(first): one}, field) for one in value[:_MOST_VALUES]]
    if dot and isinstance(value, Mapping):
        return _at({normal_name(str(key)): one for key, one in value.items()}, rest)
    return value


def _texts(value: JSON) -> Iterator[str]:
    """Yield the texts of a value: itself, or what its list holds; not those that stand for nothing."""
    wanted: Sequence[JSON] = value if isinstance(value, list | tuple) else [value]
    for one in wanted[:_MOST_VALUES]:
        if isinstance(one, str | int) and not isinstance(one, bool):
            text = " ".join(str(one).split())
            if text.casefold().strip(".-") not in STAND_FOR_NOTHING:
                yield text


def _recorded(rule: RecordEntity, text: str) -> Iterator[EntityName]:
    """Yield the entities of the records of a YAML or JSON text: the values of a key that stands inside of something."""
    key = re.escape(rule.name)
    in_yaml, in_json = (
        rf"^[ \t-]+{key}:[ \t]+(?P<yaml>[^\n]{{1,400}})$",
        rf'"{key}"[ ]?:[ ]?"(?P<json>[^"\n]{{1,400}})"',
    )
    names = re.compile(f"{in_yaml}|{in_json}", re.MULTILINE)
    seen: set[str] = set()
    for found in names.finditer(text[:_MOST_RECORD_CHARS]):
        name = " ".join((found["yaml"] or found["json"]).partition(" #")[0].strip(" \t'\"").split())
        if 0 < len(name) <= MAX_NAME_CHARS and name not in seen:
            seen.add(name)
            yield EntityName(rule.type, name)
