"""Search with the knowledge graph: hits that relations of the entities of a question lead to."""

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
from pinakes.catalog import chunk_mentions
from pinakes.catalog.collections import CollectionRecord
from pinakes.core.errors import InvalidInput, NotFound
from pinakes.core.graph_paths import MOST_HOPS, Expansion
from pinakes.core.late import changed
from pinakes.core.ports import lexicon_of
from pinakes.core.records import Hit, Results, Stage
from pinakes.core.wording import counted
from pinakes.graph.entity_retriever import SPREAD, EntityRetriever, rarity
from pinakes.graph.leads import MENTIONS, Leads, leads_of, shared_entities
from pinakes.graph.query_names import Linked
from pinakes.search import Request, SearchContext, Tracer, graph_hits, scored
from pinakes.search.as_of import is_moment, moment
from pinakes.search.retrieval.scoring import with_score
from pinakes.services.knowledge_graph import KnowledgeGraph
from pinakes.settings import GraphRules

_MOST_HITS = 50
_READ_AT_ONCE = 12
_FROM_HITS = 10
"""The entities of so many hits are gone on from."""

NO_GRAPH: Final = "the graph added no hits: what was searched has none (graph.types)"
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
        ways = {one.name: _filled(expansion, rules[one.name]) for one in records if rules[one.name].types}
        if expansion.hops and not ways:
            return replace(answer, notes=(*answer.notes, NO_GRAPH))
        if not any(one.hops for one in ways.values()):
            return answer
        until = moment(as_of) if as_of and is_moment(as_of) else ""
        if generation != "serving" or (as_of and not (until and expansion.hops)):
            return replace(answer, notes=(*answer.notes, NOT_AS_OF)) if expansion.hops else answer
        _check_relations(expansion, [rules[name] for name in ways])
        start, found, told = time.perf_counter(), list[Hit](), _Told()
        for record in records:
            if (way := ways.get(record.name)) is not None and way.hops:
                found += self._expanded(record, asked(record), answer, way, until, told)
        most = max((one.hits or 0) for one in ways.values())
        hits = sorted(found, key=lambda one: -one.score)[:most]
        took = (time.perf_counter() - start) * 1000
        stage = Stage("expand", took, {"entities": list(dict.fromkeys(told.names)), "added": len(hits)})
        trace = replace(
            answer.trace, stages=(*answer.trace.stages, stage), milliseconds=answer.trace.milliseconds + took
        )
        notes = [_added(hits, told.names)] if hits else []
        notes += [_cut(told.cut)] if told.cut else []
        notes += [ONLY_UNCHANGED] if until else []
        return replace(answer, hits=(*answer.hits, *hits), trace=trace, notes=(*answer.notes, *notes))

    def links(self, record: CollectionRecord, query: str, is_word: Callable[[str], bool]) -> list[Linked]:
        """Return the entities of a collection that ``query`` names; none where it has no graph."""
        entities_of = self._app.graphs.retriever_of(self._app.catalog, record)
        return [] if entities_of is None else entities_of.links(query, is_word)

    def _expanded(
        self, record: CollectionRecord, request: Request, answer: Results, way: Expansion, until: str, told: _Told
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
        told.names += [one.entity.name for one in named]
        weights = self._weights(record, answer, way, entities_of)
        key = ("leads", tuple(one.entity.id for one in named), tuple(sorted(weights.items())), way, until)
        leads = entities_of.kept(
            key,
            partial(self._leads, record, entities_of, named, weights, way, until, in_time),
            keep=lambda one: not one.cut,
        )
        told.cut += [record.name] if leads.cut else []
        if not leads.of_chunks:
            return []
        context = self._app.parts(record, index, Tracer())
        today = datetime.now(UTC).date()  # boosts by date change with it
        position = today, record.head, index.position(), tuple(hit.chunk_id for hit in answer.hits)
        make = partial(self._hits, record, request, context, answer, way, leads)
        return list(make()) if leads.cut else list(entities_of.kept(("hits", key, request, position), make))

    def _hits(
        self,
        record: CollectionRecord,
        request: Request,
        context: SearchContext,
        answer: Results,
        way: Expansion,
        leads: Leads,
    ) -> list[Hit]:
        """Return the hits of ``leads`` that ``answer`` lacks, of different documents, the best first.

        Their score is that of chunk and question, times (1 + weight of the lead) / 2.
        """
        of_chunks = leads.of_chunks
        chunks = np.array(sorted(of_chunks), np.int64)
        documents = np.array([of_chunks[one].document_id for one in chunks.tolist()], np.int64)
        ranked = scored(request, context, chunks, documents)
        ids = ranked.candidates.ids[ranked.rows].tolist()
        value = {
            one: score * (1 + of_chunks[one].weight) / 2 for one, score in zip(ids, ranked.scores.tolist(), strict=True)
        }
        order = sorted(range(len(ids)), key=lambda place: (-value[ids[place]], ids[place]))
        seen = {hit.chunk_id for hit in answer.hits}
        seen |= {same.chunk_id for hit in answer.hits for same in hit.duplicates}
        texts, there = {hit.text for hit in answer.hits}, {hit.document_id for hit in answer.hits}
        most, least_asked = way.hits or 0, max(request.min_score, -1.0)
        least = min((hit.score for hit in answer.hits), default=1.0)
        with self._app.catalog.read_each() as connection:
            groups = {one.group_key for one in leads.stated.values()}
            offsets = self._app.statistics.preceding_chunks(connection, record, groups)
        found: dict[str, Hit] = {}
        for start in range(0, len(order), _READ_AT_ONCE):
            for chunk, hit in graph_hits.hits_of(request, context, ranked, order[start : start + _READ_AT_ONCE]):
                score = min(value[chunk], least)
                if hit.chunk_id in seen or hit.text in texts or hit.document_id in found or score < least_asked:
                    continue
                if of_chunks[chunk].origin is not None and hit.document_id in there:
                    continue  # a hit leads to other documents
                added = with_score(hit, score, "graph")
                found[hit.document_id] = changed(added, relationship_path=leads.path(chunk, offsets), match="graph")
            if len(found) >= most:
                break
        return list(found.values())[:most]

    def _weights(
        self, record: CollectionRecord, answer: Results, way: Expansion, entities_of: EntityRetriever
    ) -> dict[tuple[str, int], tuple[float, str]]:
        """Return (document, index of the chunk) → weight and chunk id, of the best hits.

        None where only some relations, or one direction, are asked for: a shared entity has neither.
        """
        if not entities_of.rules.expand_shared or way.relations or way.direction in ("in", "out"):
            return {}
        hits = [hit for hit in answer.hits[:_FROM_HITS] if hit.collection == record.name]
        best = max((hit.score for hit in hits), default=0.0)
        return {
            (hit.document_id, hit.chunk_index): (round(math.exp((hit.score - best) / SPREAD), 4), hit.chunk_id)
            for hit in hits
        }

    def _leads(
        self,
        record: CollectionRecord,
        entities_of: EntityRetriever,
        named: Sequence[Linked],
        weights: Mapping[tuple[str, int], tuple[float, str]],
        way: Expansion,
        until: str,
        in_time: Callable[[], bool],
    ) -> Leads:
        barred = entities_of.owner_ids()
        with self._app.catalog.read_each() as connection:
            mentions = chunk_mentions.of_documents(connection, record.id, {uid for uid, _ in weights}, until)
            offsets = self._app.statistics.preceding_chunks(connection, record, {one.group_key for one in mentions})
            placed = [
                replace(one, ordinal=one.ordinal + offsets[one.group_key].get(one.mention.document_id, 0))
                for one in mentions
            ]
            documents = self._app.statistics.count(connection, record, ())
            shared = shared_entities(placed, weights, partial(rarity, documents=documents), barred)
            return leads_of(connection, [one.entity.id for one in named], shared, way, barred, in_time, until)

    def _follow(self, record: CollectionRecord, entities_of: EntityRetriever) -> None:
        """Have the graph follow its documents, unless nothing has changed since it last did."""
        if self._current.get(record.id) != (record.head, entities_of.refresh()):
            self._graph.update(record.name)
            self._current[record.id] = (record.head, entities_of.refresh())


@dataclass(slots=True)
class _Told:
    """What an answer says of its expansion: names of entities, and collections whose time ran out."""

    names: list[str] = field(default_factory=list)
    cut: list[str] = field(default_factory=list)


def _added(hits: Sequence[Hit], names: Sequence[str]) -> str:
    by_hits = any(one.relationship_path and one.relationship_path[0].relation == MENTIONS for one in hits)
    ways = [f"relations of {_listed(names)}"] if names else []
    ways += ["entities of these hits"] if by_hits else []
    return f"{counted(len(hits), 'hit')} more by {' and '.join(ways)}"


def _cut(names: Sequence[str]) -> str:
    return f"only one relation was followed in {_listed(names)}: the time for more was over (graph.expand_ms)"


def _check(expansion: Expansion) -> None:
    if expansion.hops is not None and not 0 <= expansion.hops <= MOST_HOPS:
        raise InvalidInput(f"expand cannot be {expansion.hops}.", hint=f"Use 0 to {MOST_HOPS}.")
    if expansion.hits is not None and not 1 <= expansion.hits <= _MOST_HITS:
        raise InvalidInput(f"A search cannot add {expansion.hits} hits.", hint=f"Use 1 to {_MOST_HITS}.")
    if expansion.min_confidence is not None and not 0 <= expansion.min_confidence <= 1:
        raise InvalidInput(f"min_confidence cannot be {expansion.min_confidence}.", hint="Use 0 to 1.")


def _check_relations(expansion: Expansion, rules: Sequence[GraphRules]) -> None:
    known = {kind for one in rules for kind in one.relation_types}
    if unknown := [one for one in expansion.relations if one not in known]:
        raise InvalidInput(f"There is no relation {unknown[0]!r}.", hint=f"There are {', '.join(sorted(known))}.")


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
