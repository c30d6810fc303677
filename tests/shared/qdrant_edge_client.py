"""Qdrant's engine in this process (``qdrant-edge-py``), with those methods of its client that the index engine uses.

So HNSW, text and payload indexes, float16 and quantisation are Qdrant's own; what is between a server and its clients
is not.
"""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import qdrant_edge as edge
from qdrant_client import models
from qdrant_client.http.models import QueryResponse


class EdgeClient:
    """Collections in shards below a temporary folder."""

    def __init__(self) -> None:
        self._folder = tempfile.TemporaryDirectory(prefix="qdrant-edge-")
        self._made = 0
        self._shards: dict[str, edge.EdgeShard] = {}

    def get_collections(self) -> Any:
        return models.CollectionsResponse(collections=[models.CollectionDescription(name=one) for one in self._shards])

    def get_collection(self, name: str) -> edge.EdgeShard:
        if name not in self._shards:
            raise ValueError(f"Collection {name} not found")
        return self._shards[name]

    def create_collection(self, name: str, vectors_config: Any, sparse_vectors_config: Any) -> bool:
        if name in self._shards:
            raise ValueError(f"Collection {name} already exists")
        self._made += 1
        config = edge.EdgeConfig(
            vectors={key: _dense(one) for key, one in (vectors_config or {}).items()},
            sparse_vectors={
                key: edge.EdgeSparseVectorParams(modifier=edge.Modifier.Idf if one.modifier else None)
                for key, one in (sparse_vectors_config or {}).items()
            },
            optimizers=edge.EdgeOptimizersConfig(indexing_threshold=1),
            wal_enabled=False,  # nothing is opened again
        )
        place = Path(self._folder.name) / str(self._made)
        place.mkdir()
        self._shards[name] = edge.EdgeShard.create(str(place), config)
        return True

    def delete_collection(self, name: str) -> bool:
        self._shards.pop(name).close()
        return True

    def create_payload_index(self, name: str, field: str, schema: Any, **_: Any) -> None:
        kinds = {"keyword": edge.PayloadSchemaType.Keyword, "integer": edge.PayloadSchemaType.Integer}
        if isinstance(schema, models.TextIndexParams):
            assert schema.tokenizer == models.TokenizerType.WHITESPACE
            wanted: Any = edge.TextIndexParams(
                tokenizer=edge.TokenizerType.Whitespace,
                lowercase=schema.lowercase,
                phrase_matching=schema.phrase_matching,
            )
        else:
            wanted = kinds[getattr(schema, "value", schema)]
        self.get_collection(name).update(edge.UpdateOperation.create_field_index(field, wanted))

    def optimize(self, name: str) -> None:
        """Build graphs and indexes now; a server does so by itself."""
        self.get_collection(name).optimize()

    def retrieve(self, name: str, ids: Sequence[Any], with_payload: Any = True, with_vectors: Any = False) -> list[Any]:
        return [_record(one) for one in self.get_collection(name).retrieve(list(ids), with_payload, with_vectors)]

    def scroll(
        self,
        name: str,
        scroll_filter: Any = None,
        limit: int = 10,
        offset: Any = None,
        with_payload: Any = True,
        with_vectors: Any = False,
    ) -> tuple[list[Any], Any]:
        wanted = edge.ScrollRequest(
            offset=offset,
            limit=limit,
            filter=_filter(scroll_filter),
            with_payload=with_payload,
            with_vector=with_vectors,
        )
        found, after = self.get_collection(name).scroll(wanted)
        return [_record(one) for one in found], after

    def count(self, name: str, count_filter: Any = None) -> models.CountResult:
        wanted = edge.CountRequest(exact=True, filter=_filter(count_filter))
        return models.CountResult(count=self.get_collection(name).count(wanted))

    def query_batch_points(self, name: str, requests: Sequence[models.QueryRequest]) -> list[QueryResponse]:
        shard = self.get_collection(name)
        if not requests:
            return []
        try:
            found = shard.query_batch(edge.QueryBatchRequest([_query(one) for one in requests]))
        except Exception as error:
            raise ValueError(str(error)) from error
        return [QueryResponse(points=[_scored(one) for one in hits]) for hits in found]

    def upsert(self, name: str, points: Sequence[models.PointStruct]) -> None:
        self.batch_update_points(name, [models.UpsertOperation(upsert=models.PointsList(points=list(points)))])

    def batch_update_points(self, name: str, operations: Sequence[Any], **_: Any) -> list[models.UpdateResult]:
        shard = self.get_collection(name)
        for operation in operations:
            try:
                shard.update(_operation(operation))
            except Exception as error:
                raise ValueError(str(error)) from error
        return [models.UpdateResult(operation_id=0, status=models.UpdateStatus.COMPLETED)] * len(operations)

    def close(self) -> None:
        for shard in self._shards.values():
            shard.close()
        self._folder.cleanup()


def _dense(params: models.VectorParams) -> Any:
    assert params.distance == models.Distance.DOT
    graph = params.hnsw_config
    assert graph is not None
    quantized: Any = None
    if isinstance(params.quantization_config, models.ScalarQuantization):
        quantized = edge.ScalarQuantizationConfig(edge.ScalarType.Int8, quantile=0.99, always_ram=True)
    elif isinstance(params.quantization_config, models.BinaryQuantization):
        quantized = edge.BinaryQuantizationConfig(always_ram=True)
    half = params.datatype == models.Datatype.FLOAT16
    return edge.EdgeVectorParams(
        size=params.size,
        distance=edge.Distance.Dot,
        datatype=edge.VectorStorageDatatype.Float16 if half else edge.VectorStorageDatatype.Float32,
        quantization_config=quantized,
        hnsw_config=edge.HnswIndexConfig(
            m=graph.m or 0, ef_construct=graph.ef_construct or 100, full_scan_threshold=10
        ),
    )


def _operation(given: Any) -> Any:
    make = edge.UpdateOperation
    if isinstance(given, models.UpsertOperation):
        points = [edge.Point(one.id, _vectors(one.vector), one.payload) for one in given.upsert.points]
        return make.upsert_points(points, _filter(given.upsert.update_filter))
    if isinstance(given, models.DeleteOperation):
        return make.delete_points(list(given.delete.points))
    if isinstance(given, models.UpdateVectorsOperation):
        return make.update_vectors(
            [edge.PointVectors(one.id, _vectors(one.vector)) for one in given.update_vectors.points]
        )
    assert isinstance(given, models.SetPayloadOperation)
    wanted = given.set_payload
    return make.set_payload(list(wanted.points or ()), wanted.payload, wanted.key)


def _vectors(given: Any) -> dict[str, Any]:
    return {name: _vector(one) for name, one in (given or {}).items()}


def _vector(given: Any) -> Any:
    return edge.SparseVector(given.indices, given.values) if isinstance(given, models.SparseVector) else given


def _query(given: models.QueryRequest) -> Any:
    params = None
    if given.params is not None:
        quantized = given.params.quantization
        params = edge.SearchParams(
            hnsw_ef=given.params.hnsw_ef,
            exact=bool(given.params.exact),
            quantization=quantized
            and edge.QuantizationSearchParams(rescore=quantized.rescore, oversampling=quantized.oversampling),
        )
    query = None
    if given.query is not None:
        query = edge.Query.Nearest(_vector(getattr(given.query, "nearest", given.query)), given.using)
    return edge.QueryRequest(
        given.limit or 10,
        query=query,
        filter=_filter(given.filter),
        with_payload=given.with_payload or False,
        with_vector=False,
        score_threshold=given.score_threshold,
        params=params,
    )


def _filter(given: Any) -> Any:
    if given is None:
        return None
    every = {name: getattr(given, name) for name in ("must", "should", "must_not")}
    made = {name: [_condition(one) for one in some] for name, some in every.items() if some}
    if given.min_should is not None:
        some = [_condition(one) for one in given.min_should.conditions]
        made["min_should"] = edge.MinShould(some, given.min_should.min_count)
    return edge.Filter(**made)


def _condition(given: Any) -> Any:
    if isinstance(given, models.Filter):
        return _filter(given)
    if isinstance(given, models.HasIdCondition):
        return edge.HasIdCondition(set(given.has_id))
    if given.range is not None:
        ends = given.range.model_dump(exclude_none=True)
        return edge.FieldCondition(given.key, range=edge.RangeFloat(**ends))
    match = given.match
    made: Mapping[type, Any] = {
        models.MatchValue: lambda: edge.MatchValue(match.value),
        models.MatchAny: lambda: edge.MatchAny(match.any),
        models.MatchPhrase: lambda: edge.MatchPhrase(match.phrase),
    }
    return edge.FieldCondition(given.key, match=made[type(match)]())


def _record(one: Any) -> models.Record:
    return models.Record(id=one.id, payload=one.payload, vector=_given_back(one.vector))


def _scored(one: Any) -> models.ScoredPoint:
    return models.ScoredPoint(id=one.id, version=one.version, score=one.score, payload=one.payload)


def _given_back(vectors: Any) -> Any:
    if not isinstance(vectors, dict):
        return vectors
    return {
        name: models.SparseVector(indices=one.indices, values=one.values) if isinstance(one, edge.SparseVector) else one
        for name, one in vectors.items()
    }
