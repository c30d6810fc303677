"""Relations of mentions, where a rule allows them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pinakes.core.graph_records import UNTYPED, Mention, StatedRelation
from pinakes.core.records import Span
from pinakes.settings import RelationRule


def related(
    rule: RelationRule, sources: Sequence[Mention], targets: Sequence[Mention], span: Span, by: str, share: float
) -> Iterator[StatedRelation]:
    """Yield the relation of each source with each target whose types ``rule`` allows.

    The type of a candidate is not known yet: it is allowed, with ``share`` of the confidence of the rule. ``by``: the
    extractor.
    """
    for source in sources:
        for target in targets:
            ends = (rule.source, source.entity.type), (rule.target, target.entity.type)
            allowed = all(not wanted or kind in (UNTYPED, *wanted) for wanted, kind in ends)
            if allowed and source.entity.key != target.entity.key:
                sure = rule.confidence * (share if UNTYPED in (source.entity.type, target.entity.type) else 1.0)
                yield StatedRelation(source.entity, rule.type, target.entity, *span, round(sure, 3), by)
