"""Search with the knowledge graph: hits that relations of the entities of a question lead to."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Final

from pinakes.app import App
from pinakes.catalog import entities, graph_lookups
from pinakes.catalog.collections import CollectionRecord
from pinakes.catalog.graph_lookups import Hop, Statement
from pinakes.core.errors import InvalidInput, NotFound
from pinakes.core.graph_paths import MOST_HOPS, Expansion, PathStep
from pinakes.core.graph_records import folded
from pinakes.core.late import changed
from pinakes.core.ports import lexicon_of
from pinakes.core.records import Hit, Results, Stage
from pinakes.core.wording import counted
from pinakes.graph.hops import Reached, reached
from pinakes.graph.query_names import Linked, SimilarNames, linked
from pinakes.search import Request, Tracer, graph_hits
from pinakes.search.as_of import is_moment, moment
from pinakes.search.retrieval.scoring import with_score
from pinakes.services.knowledge_graph import KnowledgeGraph
from pinakes.settings import GraphRules

_CHUNKS_OF_ENTITY: Final = 8
"""So many mentions of each entity are looked at."""

_MENTIONS: Final = 0.8
"""Weight of a chunk that mentions an entity, beside 1 of one that states its relation."""

_MOST_HITS = 50
_READ_AT_ONCE = 30
_REMEMBERED = 20
NOT_AS_OF: Final = "the graph added no hits: it is that of the documents as they are now"
ONLY_UNCHANGED: Final = "the graph adds hits of documents that did not change since; names are those of now"


@dataclass(frozen=True, slots=True)
class _Lead:
    """A chunk that the graph leads to, by which way, and how much of its score counts."""

    chunk_id: int
    document_id: int
    way: Reached
    weight: float


@dataclass(frozen=True, slots=True)
class _Told:
    """What paths are told by: id → (name, type) of entities, id → statement, the first chunk of each document."""

    names: Mapping[int, tuple[str, str]]
    stated: Mapping[int, Statement]
    offsets: Mapping[str, Mapping[int, int]]

    def step(self, hop: Hop) -> PathStep:
        """Return a relation as callers see it."""
        source, target, place = self.names[hop.source_id], self.names[hop.target_id], self.stated.get(hop.statement)
        chunk_id = ""
        if place is not None and place.ordinal is not None:
            before = self.offsets.get(place.group_key, {}).get(place.document_id, 0)
            chunk_id = f"{place.group_key or place.uid}_{before + place.ordinal}"
        path, text = ("", "") if place is None else (place.path, place.text)
        return PathStep(*source, hop.type, *target, round(hop.confidence, 3), chunk_id, path, text)


class GraphSearch:
    """Adds hits to the results of searches. Thread-safe."""

    def __init__(self, app: App, graph: KnowledgeGraph) -> None:
        self._app, self._graph = app, graph
        self._lock = threading.Lock()
        self._similar: OrderedDict[tuple[object, ...], SimilarNames] = OrderedDict()

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
        if not any(one.hops for one in ways.values()):
            return answer
        until = moment(as_of) if as_of and is_moment(as_of) else ""
        if generation != "serving" or (as_of and not (until and expansion.hops)):
            return replace(answer, notes=(*answer.notes, NOT_AS_OF)) if expansion.hops else answer
        _check_relations(expansion, [rules[name] for name in ways])
        start, found, linked_names = time.perf_counter(), list[Hit](), list[str]()
        for record in records:
            if (way := ways.get(record.name)) is not None and way.hops:
                named, some = self._expanded(record, asked(record), answer, way, until)
                linked_names += named
                found += some
        most = max((one.hits or 0) for one in ways.values())
        hits = sorted(found, key=lambda one: -one.score)[:most]
        took = (time.perf_counter() - start) * 1000
        stage = Stage("expand", took, {"entities": list(dict.fromkeys(linked_names)), "added": len(hits)})
        trace = replace(
            answer.trace, stages=(*answer.trace.stages, stage), milliseconds=answer.trace.milliseconds + took
        )
        notes = [f"{counted(len(hits), 'hit')} more by relations of {_listed(linked_names)}"] if hits else []
        notes += [ONLY_UNCHANGED] if until else []
        return replace(answer, hits=(*answer.hits, *hits), trace=trace, notes=(*answer.notes, *notes))

    def links(self, record: CollectionRecord, query: str, is_word: Callable[[str], bool]) -> list[Linked]:
        """Return the entities of a collection that ``query`` names."""
        with self._app.catalog.read_each() as connection:
            called = partial(graph_lookups.called, connection, record.id)
            return linked(query, called, partial(self._similar_names, record), is_word)

    def _expanded(
        self, record: CollectionRecord, request: Request, answer: Results, way: Expansion, until: str
    ) -> tuple[list[str], list[Hit]]:
        """Return the names of the entities of the question, and the hits that their relations lead to."""
        self._graph.update(record.name)
        record, index = self._app.index(record.name, wait=False)
        lexicon = lexicon_of(index)
        seeds = self.links(record, request.query, lexicon.has if lexicon else lambda _: False)
        names = [one.entity.name for one in seeds]
        leads, told = self._leads(record, [one.entity.id for one in seeds], way, until)
        if not leads:
            return names, []
        context = self._app.parts(record, index, Tracer())
        ranked = graph_hits.scored(request, context, {one.chunk_id: one.document_id for one in leads.values()})
        ids = ranked.candidates.ids[ranked.rows].tolist()
        value = {one: score * leads[one].weight for one, score in zip(ids, ranked.scores.tolist(), strict=True)}
        order = sorted(range(len(ids)), key=lambda place: (-value[ids[place]], ids[place]))
        seen = {hit.chunk_id for hit in answer.hits}
        seen |= {same.chunk_id for hit in answer.hits for same in hit.duplicates}
        texts = {hit.text for hit in answer.hits}
        most, least_asked = way.hits or 0, max(request.min_score, -1.0)
        least = min((hit.score for hit in answer.hits), default=1.0)
        found: dict[str, Hit] = {}
        for start in range(0, len(order), _READ_AT_ONCE):
            for chunk, hit in graph_hits.hits_of(request, context, ranked, order[start : start + _READ_AT_ONCE]):
                score = min(value[chunk], least)
                if not (hit.chunk_id in seen or hit.text in texts or hit.document_id in found or score < least_asked):
                    path = tuple(map(told.step, leads[chunk].way.path))
                    added = with_score(hit, score, "graph")
                    found[hit.document_id] = changed(added, relationship_path=path, match="graph")
            if len(found) >= most:
                break
        return names, list(found.values())[:most]

    def _leads(
        self, record: CollectionRecord, seeds: Collection[int], way: Expansion, until: str
    ) -> tuple[dict[int, _Lead], _Told]:
        """Return chunk id → how the graph leads to it: chunks that state a relation, and that mention an entity."""
        owner = self._app.rules(record).graph.owner.partition(":")[2]
        with self._app.catalog.read_each() as connection:
            barred = {one.id for one in graph_lookups.called(connection, record.id, {folded(owner)})} if owner else ()
            hops_of = partial(
                graph_lookups.hops,
                connection,
                types=way.relations,
                direction=way.direction or "both",
                min_confidence=way.min_confidence or 0.0,
                until=until,
            )
            found = reached(hops_of, seeds, way.hops or 0, barred)
            if not found:
                return {}, _Told({}, {}, {})
            stated = graph_lookups.statements(connection, [hop.statement for one in found for hop in one.path])
            ends = {end for one in found for hop in one.path for end in (hop.source_id, hop.target_id)}
            names = graph_lookups.names_of(connection, ends)
            found = [one for one in found if one.entity_id in names]
            mentioned = graph_lookups.mentioning(connection, [one.entity_id for one in found], _CHUNKS_OF_ENTITY, until)
            groups = {one.group_key for one in stated.values()}
            offsets = self._app.statistics.preceding_chunks(connection, record, groups)
        leads: dict[int, _Lead] = {}
        by_entity = {one.entity_id: one for one in found}
        for one in found:
            place = stated.get(one.path[-1].statement)
            if place is not None and place.chunk_id is not None:
                _keep(leads, _Lead(place.chunk_id, place.document_id, one, one.confidence))
        for each in mentioned:
            one = by_entity[each.entity_id]
            weight = _MENTIONS * one.confidence * each.confidence
            _keep(leads, _Lead(each.chunk_id, each.document_id, one, weight))
        return leads, _Told(names, stated, offsets)

    def _similar_names(self, record: CollectionRecord) -> SimilarNames:
        """Return the names that may be misspelt: of types that allow other spellings."""
        types = [kind for kind, one in self._app.rules(record).graph.types.items() if one.merge]
        with self._app.catalog.read_each() as connection:
            state = entities.state(connection, record.id)
            key = (record.id, state.computed_at, state.position, state.decided, tuple(types))
            with self._lock:
                if key in self._similar:
                    return self._similar[key]
            names = graph_lookups.all_names(connection, record.id, types) if types else []
        found = SimilarNames(names)
        with self._lock:
            self._similar[key] = found
            while len(self._similar) > _REMEMBERED:
                self._similar.popitem(last=False)
        return found


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


def _keep(leads: dict[int, _Lead], one: _Lead) -> None:
    known = leads.get(one.chunk_id)
    if known is None or (one.weight, -len(one.way.path)) > (known.weight, -len(known.way.path)):
        leads[one.chunk_id] = one


def _listed(names: Sequence[str]) -> str:
    return ", ".join(dict.fromkeys(names))
