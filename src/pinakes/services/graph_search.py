"""Search with the knowledge graph: hits that are reached by relations of entities."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from functools import partial
from typing import Final

import numpy as np

from pinakes.app import App
from pinakes.catalog import tied_documents
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import InvalidInput, NotFound
from pinakes.core.graph_paths import MOST_HOPS, Expansion
from pinakes.core.late import changed
from pinakes.core.ports import lexicon_of
from pinakes.core.records import Hit, Results, Stage
from pinakes.core.wording import counted
from pinakes.graph import metadata_evidence
from pinakes.graph.chunk_expansion import ReachedChunks, expand
from pinakes.graph.entity_retriever import SPREAD, EntityRetriever, rarity
from pinakes.graph.expansion_seeds import MENTIONS, Seeds, shared_entities
from pinakes.graph.query_names import Linked
from pinakes.graph.relation_memory import RelationMemory
from pinakes.graph.relation_names import RelationNames, asked_relations
from pinakes.search import Request, SearchContext, Tracer, parsed, rank, retrieve, scored
from pinakes.search.as_of import is_moment, moment
from pinakes.search.ranking.rank import Ranked
from pinakes.search.results import hydration
from pinakes.search.retrieval.scoring import with_score
from pinakes.services.knowledge_graph import KnowledgeGraph
from pinakes.settings import GraphRules

_MOST_HITS = 50
_READ_AT_ONCE = 12
_BOOSTED = 24
"""So many chunks that the graph reaches are scored with boosts."""

_FROM_HITS = 10
"""The entities of so many hits are gone on from."""

NO_GRAPH: Final = "the graph added no hits: what was searched has none (graph.types)"
UNUSED: Final = "types of relations are of no use without expand: the settings add no hits by the graph (graph.expand)"
NOT_AS_OF: Final = "the graph added no hits: it is that of the documents as they are now"
ONLY_UNCHANGED: Final = "the graph adds hits of documents that did not change since; names are those of now"


class GraphSearch:
    """Adds hits to the results of searches. Thread-safe."""

    def __init__(self, app: App, graph: KnowledgeGraph) -> None:
        self._app, self._graph = app, graph
        self._current: dict[int, Hashable] = {}

    def of_results(
        self,
        answer: Results,
        asked: Callable[[CollectionRecord], Request],
        names: Sequence[str],
        wanted: int | Expansion | None,
        as_of: str | None = None,
        generation: str = "serving",
    ) -> Results:
        """Return ``answer`` with the hits that the graphs of collections add, behind its own, which stay as they are.

        ``wanted``: number of hops, or more of it; None = as the settings of each collection say. ``as_of`` a day
        or time: only what documents say that did not change since. To the answer of a tag, a commit or another
        ``generation`` nothing is added: its documents are not those of the graph.

        Raises:
            InvalidInput: it is out of range, or no collection has such relations.
        """
        expansion = wanted if isinstance(wanted, Expansion) else Expansion(wanted)
        _check(expansion)
        records = list[CollectionRecord]()
        for name in names:
            with suppress(NotFound):  # the answer says so
                records.append(self._app.record(name))
        rules = {one.name: self._app.rules(one).graph for one in records}
        if expansion.relations and any(one.types for one in rules.values()):
            expansion = self._with_known_relations(expansion, [one for one in records if rules[one.name].types])
        expansions = {one.name: _filled(expansion, rules[one.name]) for one in records if rules[one.name].types}
        if expansion.hops and not expansions:
            return replace(answer, notes=(*answer.notes, NO_GRAPH))
        if not any(one.hops for one in expansions.values()):
            unused = expansion.relations and expansion.hops is None
            return replace(answer, notes=(*answer.notes, UNUSED)) if unused else answer
        until = moment(as_of) if as_of and is_moment(as_of) else ""
        if generation != "serving" or (as_of and not (until and expansion.hops)):
            return replace(answer, notes=(*answer.notes, NOT_AS_OF)) if expansion.hops else answer
        start, found, summary = time.perf_counter(), list[Hit](), _Summary()
        for record in records:
            if (own := expansions.get(record.name)) is not None and own.hops:
                found += self._expanded(record, asked(record), answer, own, until, summary)
        most = max((one.hits or 0) for one in expansions.values())
        hits = sorted(found, key=lambda one: -one.score)[:most]
        took = (time.perf_counter() - start) * 1000
        stage = Stage("expand", took, {"entities": list(dict.fromkeys(summary.names)), "added": len(hits)})
        trace = replace(
            answer.trace, stages=(*answer.trace.stages, stage), milliseconds=answer.trace.milliseconds + took
        )
        notes = [_added(hits, summary.names)] if hits else [_none_added(expansion)] if expansion.hops else []
        notes += [_cut(summary.cut)] if summary.cut else []
        notes += [ONLY_UNCHANGED] if until else []
        return replace(answer, hits=(*answer.hits, *hits), trace=trace, notes=(*answer.notes, *notes))

    def links(self, record: CollectionRecord, query: str, is_word: Callable[[str], bool]) -> list[Linked]:
        """Return the entities of a collection that ``query`` names; none where it has no graph."""
        entities_of = self._app.graphs.retriever_of(self._app.catalog, record)
        return [] if entities_of is None else entities_of.links(query, is_word)

    def _with_known_relations(self, expansion: Expansion, records: Sequence[CollectionRecord]) -> Expansion:
        """Return ``expansion`` with the types of relations that its names mean, in any case and from either side."""
        names = {one.id: RelationNames(self._app.rules(one).graph) for one in records}
        with self._app.catalog.read_each() as connection:
            given = asked_relations(connection, names, expansion.relations)
        return replace(
            expansion, relations=tuple(sorted({kind for each in names.values() for kind in each.types(given)}))
        )

    def _expanded(
        self,
        record: CollectionRecord,
        request: Request,
        answer: Results,
        expansion: Expansion,
        until: str,
        summary: _Summary,
    ) -> list[Hit]:
        """Return the hits that the graph of a collection adds, the best first, and tell by what."""
        entities_of = self._app.graphs.retriever_of(self._app.catalog, record)
        if entities_of is None:
            return []
        budget_s, start = entities_of.rules.expand_ms / 1000, time.perf_counter()
        self._follow(record, entities_of)

        def in_time() -> bool:
            return time.perf_counter() - start < budget_s

        record, index = self._app.index(record.name, wait=False)
        lexicon = lexicon_of(index)
        named = entities_of.links(request.query, lexicon.has if lexicon else lambda _: False)
        summary.names += [one.entity.name for one in named]
        weights = _weights(record, answer)
        key = ("chunks", tuple(one.entity.id for one in named), tuple(sorted(weights.items())), expansion, until)
        reached = entities_of.kept(
            key,
            partial(self._reached_chunks, record, entities_of, named, weights, expansion, until, in_time),
            keep=lambda one: not one.out_of_time,
        )
        summary.cut += [record.name] if reached.out_of_time else []
        if not reached.by_id:
            return []
        context = self._app.parts(record, index, Tracer())
        today = datetime.now(UTC).date()  # boosts by date change with it
        position = today, record.head, index.position(), tuple(hit.chunk_id for hit in answer.hits)
        make = partial(self._hits, record, request, context, answer, expansion, reached, until)
        return list(make()) if reached.out_of_time else list(entities_of.kept(("hits", key, request, position), make))

    def _hits(
        self,
        record: CollectionRecord,
        request: Request,
        context: SearchContext,
        answer: Results,
        expansion: Expansion,
        reached: ReachedChunks,
        until: str,
    ) -> list[Hit]:
        """Return hits of different documents that ``answer`` lacks, as ``_chosen``: of ``reached``, and of the search.

        Where only some relations, or one direction, are asked for, or documents of another time, they are of
        ``reached`` alone; the former may be other chunks of its documents.
        """
        most, least_asked = expansion.hits or 0, max(request.min_score, -1.0)
        is_narrow = expansion.is_narrow
        others = {} if is_narrow or until else _of_other_documents(request, context, 2 * most + len(answer.hits))
        ranked = _best_of_documents(request, context, reached, others, most)
        ids = ranked.candidates.ids[ranked.rows].tolist()
        order = _chosen([reached.weight_of(one) for one in ids], ranked.scores.tolist())
        seen = {hit.chunk_id for hit in answer.hits}
        seen |= {same.chunk_id for hit in answer.hits for same in hit.duplicates}
        texts, there = {hit.text for hit in answer.hits}, set[str]()
        there |= set() if is_narrow else {hit.document_id for hit in answer.hits}
        least = min((hit.score for hit in answer.hits), default=1.0)
        found: list[tuple[int, Hit]] = []
        for start in range(0, len(order), _READ_AT_ONCE):
            for chunk, hit in hydration.hits_of(request, context, ranked, order[start : start + _READ_AT_ONCE]):
                score = min(hit.score, least)
                if hit.chunk_id in seen or hit.text in texts or hit.document_id in there or score < least_asked:
                    continue
                there.add(hit.document_id)
                found.append((chunk, with_score(hit, score, "graph")))
                least = score
            if len(found) >= most:
                break
        return self._with_paths(record, reached, found[:most])

    def _with_paths(
        self, record: CollectionRecord, reached: ReachedChunks, found: Sequence[tuple[int, Hit]]
    ) -> list[Hit]:
        """Return the hits of chunks, with the paths to those that ``reached`` has."""
        shown = [chunk for chunk, _ in found if chunk in reached.by_id]
        with self._app.catalog.read_each() as connection:
            reached = metadata_evidence.with_statements(connection, self._app.rules(record).graph, reached, shown)
            groups = {one.group_key for one in reached.stated.values()}
            offsets = self._app.statistics.preceding_chunks(connection, record, groups)
        return [
            changed(hit, relationship_path=reached.path(chunk, offsets), match="graph") if chunk in shown else hit
            for chunk, hit in found
        ]

    def _reached_chunks(
        self,
        record: CollectionRecord,
        entities_of: EntityRetriever,
        named: Sequence[Linked],
        weights: Mapping[tuple[str, int], tuple[float, str]],
        expansion: Expansion,
        until: str,
        in_time: Callable[[], bool],
    ) -> ReachedChunks:
        excluded, narrow = entities_of.owner_ids(), expansion.is_narrow or not entities_of.rules.expand_shared
        uids = {uid for uid, _ in weights}
        memory = entities_of.kept("memory", RelationMemory)  # before reading: newer relations may go with an older one
        with self._app.catalog.read_each() as connection:
            rare = partial(rarity, documents=self._app.statistics.count(connection, record, ()))
            own = tied_documents.own_entities(connection, record.id, uids)
            mentions = [] if narrow else tied_documents.mentions_of_documents(connection, record.id, uids, until)
            groups = {one.group_key for one in own} | {one.group_key for one in mentions}
            offsets = self._app.statistics.preceding_chunks(connection, record, groups)
            placed = [
                replace(one, ordinal=one.ordinal + offsets[one.group_key].get(one.mention.document_id, 0))
                for one in mentions
            ]
            best = {uid: weight for (uid, _), (weight, _) in sorted(weights.items(), key=lambda one: one[1][0])}
            own_weights = sorted((best[one.uid], one.entity_id) for one in own if one.entity_id is not None)
            seeds = Seeds(
                named={one.entity.id: rare(one.entity.documents) for one in named},
                shared=shared_entities(placed, weights, rare, excluded),
                own={} if narrow else {entity_id: weight for weight, entity_id in own_weights},
                places=[
                    (one.document_id, place - offsets[one.group_key].get(one.document_id, 0))
                    for one in own
                    for uid, place in weights
                    if uid == one.uid
                ],
                rarity=rare,
                excluded=excluded,
            )
            return expand(connection, memory, seeds, expansion, in_time, until)

    def _follow(self, record: CollectionRecord, entities_of: EntityRetriever) -> None:
        """Have the graph follow its documents, unless nothing has changed since it last did."""
        if self._current.get(record.id) != (record.head, entities_of.refresh()):
            self._graph.update(record.name)
            self._current[record.id] = (record.head, entities_of.refresh())


@dataclass(slots=True)
class _Summary:
    """What an answer says of its expansion: names of entities, and collections whose time ran out."""

    names: list[str] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)


def _added(hits: Sequence[Hit], names: Sequence[str]) -> str:
    firsts = [one.relationship_path[0] for one in hits if one.relationship_path]
    named = [one for one in firsts if one.source in names or one.target in names]
    mentions = [one for one in firsts if one.relation == MENTIONS]
    origins = [f"relations of {_listed(names)}"] if named else []
    origins += ["entities of these hits"] if mentions else []
    origins += ["relations of these hits"] if len(firsts) > len(named) + len(mentions) else []
    origins += ["what answers best in other documents"] if len(hits) > len(firsts) else []
    return f"{counted(len(hits), 'hit')} more by {' and '.join(origins)}"


def _none_added(expansion: Expansion) -> str:
    of = f"relations of type {_listed(expansion.relations)}" if expansion.relations else "the graph"
    return f"no hit more by {of}"


def _of_other_documents(request: Request, context: SearchContext, most: int) -> dict[int, int]:
    """Return chunk id → document of the best chunks of ``most`` documents, by the search without its diversity."""
    known = retrieve(request, replace(context, tracer=Tracer()))
    ranked = rank(known.asked.request, known.found, context.settings.search)
    owners = known.found.documents[ranked.rows]
    _, first = np.unique(owners, return_index=True)
    rows = ranked.rows[np.sort(first)[:most]]
    return dict(zip(known.found.ids[rows].tolist(), known.found.documents[rows].tolist(), strict=True))


def _best_of_documents(
    request: Request, context: SearchContext, reached: ReachedChunks, others: Mapping[int, int], most: int
) -> Ranked:
    """Return the chunk of each document with the largest score times weight, of those that ``_chosen`` puts first.

    At least ``most`` of them, where there are so many; and ``others``: chunk id → document. They are scored beside the
    hits, which some parts of a score are relative to; only these few with boosts, which take longest.
    """
    owners = {chunk: one.document_id for chunk, one in reached.by_id.items()}
    documents_reached = set(owners.values())
    owners |= {chunk: owner for chunk, owner in reached.of_hits.items() if owner not in documents_reached}
    chunks = np.array(sorted(owners), np.int64)
    documents = np.array([owners[one] for one in chunks.tolist()], np.int64)
    asked = parsed(request, context)
    ranked = scored(asked, context, chunks, documents, boosts=False)
    best: dict[int, tuple[int, float, float]] = {}
    for chunk, score in zip(ranked.candidates.ids[ranked.rows].tolist(), ranked.scores.tolist(), strict=True):
        one = reached.by_id.get(chunk)
        known = None if one is None else best.get(one.document_id)
        if one is not None and (known is None or score * one.weight > known[1] * known[2]):
            best[one.document_id] = chunk, score, one.weight
    order = _chosen([weight for _, _, weight in best.values()], [score for _, score, _ in best.values()])
    kept = [list(best.values())[place][0] for place in order[: max(_BOOSTED, 2 * most)]]
    owners |= others
    few = sorted({*kept, *others, *reached.of_hits})
    owners_of_few = np.array([owners.get(one, reached.of_hits.get(one, 0)) for one in few], np.int64)
    ranked = scored(asked, context, np.array(few, np.int64), owners_of_few)
    is_kept = np.isin(ranked.candidates.ids[ranked.rows], [*kept, *others])
    return Ranked(ranked.candidates, ranked.rows[is_kept], ranked.scores[is_kept])


def _weights(record: CollectionRecord, answer: Results) -> dict[tuple[str, int], tuple[float, str]]:
    """Return (document, index of the chunk) → weight and chunk id, of the best hits."""
    hits = [hit for hit in answer.hits[:_FROM_HITS] if hit.collection == record.name]
    best = max((hit.score for hit in hits), default=0.0)
    return {
        (hit.document_id, hit.chunk_index): (round(math.exp((hit.score - best) / SPREAD), 4), hit.chunk_id)
        for hit in hits
    }


def _chosen(weights: Sequence[float], scores: Sequence[float]) -> list[int]:
    """Return the order in which n chunks are added: the best by score, and by score times weight, in turns.

    The first kind answers the question, the second is what only the graph finds: its words are unlike the question's.
    """
    places = range(len(scores))
    by_score = sorted(places, key=lambda one: (-scores[one], -weights[one]))
    by_weight = sorted(places, key=lambda one: (-scores[one] * weights[one], -weights[one]))
    return list(dict.fromkeys(one for pair in zip(by_score, by_weight, strict=True) for one in pair))


def _cut(names: Sequence[str]) -> str:
    return f"only one relation was followed in {_listed(names)}: the time for more was over (graph.expand_ms)"


def _check(expansion: Expansion) -> None:
    if expansion.hops is not None and not 0 <= expansion.hops <= MOST_HOPS:
        raise InvalidInput(f"expand cannot be {expansion.hops}.", hint=f"Use 0 to {MOST_HOPS}.")
    if expansion.hits is not None and not 1 <= expansion.hits <= _MOST_HITS:
        raise InvalidInput(f"A search cannot add {expansion.hits} hits.", hint=f"Use 1 to {_MOST_HITS}.")
    if expansion.min_confidence is not None and not 0 <= expansion.min_confidence <= 1:
        raise InvalidInput(f"min_confidence cannot be {expansion.min_confidence}.", hint="Use 0 to 1.")


def _filled(expansion: Expansion, rules: GraphRules) -> Expansion:
    """Return ``expansion`` with the settings of a collection in place of what it leaves open."""
    return Expansion(
        rules.expand if expansion.hops is None else expansion.hops,
        expansion.relations or rules.expand_relations,
        expansion.direction or rules.expand_direction,
        rules.expand_confidence if expansion.min_confidence is None else expansion.min_confidence,
        expansion.hits or rules.expand_hits,
    )


def _listed(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(names))
