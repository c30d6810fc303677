"""Entities that patterns of text name: KEP-1234, CONFIG_SMP."""

from __future__ import annotations

from pinakes.core.filters import normal_name
from pinakes.core.graph_records import EntityName, ExtractionSubject, Findings, Mention
from pinakes.extraction.declared_names import filled
from pinakes.settings import GraphRules
from pinakes.settings.graph_rules import compiled


class NamePatterns:
    """Finds what the patterns of the settings name, by RE2: the time is linear, whatever the pattern."""

    def __init__(self, rules: GraphRules) -> None:
        self._rules = [(rule, [compiled(pattern) for pattern in rule.pattern]) for rule in rules.patterns]
        self.fingerprint = f"patterns:1 {rules.patterns!r}"

    def extract(self, subject: ExtractionSubject) -> Findings:
        """Return the mentions that patterns find."""
        mentions: list[Mention] = []
        for rule, patterns in self._rules:
            for pattern in patterns:
                for found in pattern.finditer(subject.prose):
                    groups = {normal_name(key): value for key, value in found.groupdict().items() if value}
                    name = filled(rule.name, groups) if rule.name else groups.get("name", "")
                    start, end = found.span(pattern.groupindex["name"])
                    if name and end > start:
                        mentions.append(Mention(EntityName(rule.type, name), start, end, rule.confidence, "patterns"))
        return Findings(mentions)
