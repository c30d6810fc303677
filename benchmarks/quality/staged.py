"""``python -m benchmarks.quality.staged [SET …]``: what ranking documents by chunks and summaries is worth.

Documents are ranked by the vector of their summary alone (of the title where there is no summary), by their best
chunks alone, by both as ``Staged.summaries`` does with summaries that somebody wrote, and with 15 % of the score from
the summary. Differences have their 95 % interval (bootstrap over the questions). No document of these sets came with a
summary, so sentences of the text stand in for one, and for the proposals of ``keps`` what their authors wrote under the
heading Summary. Homes are those of ``python -m benchmarks.quality``; vectors of summaries are kept beside them.
"""

from __future__ import annotations

import argparse
import hashlib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean, median
from time import perf_counter

import numpy as np
from sqlalchemy import select

from benchmarks.quality.sets import ROOT, available
from benchmarks.quality.signals import Subject, subjects_of
from pinakes import search
from pinakes.catalog import document_queries, documents, schema
from pinakes.catalog.document_queries import DocumentRecord
from pinakes.chunking import headings
from pinakes.core.records import Document
from pinakes.evaluation import resampling
from pinakes.evaluation.metrics import metric
from pinakes.evaluation.names import DocumentNames
from pinakes.evaluation.questions import Question
from pinakes.ingestion.embedding import readable
from pinakes.library import Library
from pinakes.search import SearchContext
from pinakes.search.documents import best_documents
from pinakes.search.statistics.summary_vectors import SummaryVectors

SETS = ("scifact", "k8s-docs-qa", "keps", "handbook", "linux")
METRICS = (metric("ndcg@10"), metric("hit@5"))
DEPTH = 50
SHARE = 0.15
AUTHORS = {"keps": "summary"}
"""Sets whose documents have a section that says what they are about, and what that is called."""

NONE = SummaryVectors(np.empty(0, np.int64), np.empty((0, 0), np.float32), 0)
_MIN_CHARS, _MAX_CHARS = 40, 1500


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS), help="names of sets")
    parser.add_argument("--work", type=Path, default=ROOT / "benchmarks" / "results" / "quality")
    arguments = parser.parse_args()
    chosen = [one for one in available() if one.name in arguments.sets]
    for subject in subjects_of(chosen, arguments.work / "homes"):
        measure(subject, arguments.work / "summaries")


def measure(subject: Subject, kept: Path) -> None:
    """Print the table of one set."""
    questions = subject.questions()
    with subject.open({}) as library:
        called = subject.one.names(library)
        every = _briefs(library)
        sentences = _sentences(library, every)
        own = _vectors(library, sentences, kept / f"{subject.one.name}-sentences.npz")
        print(f"\n{subject.one.name}: {len(questions)} questions, {len(every)} documents")
        rows = {
            "summary alone": _scores(library, questions, _alone(own, every), called, every),
            "chunks alone": _scores(library, questions, _ranked(NONE), called, every),
            "both": _scores(library, questions, _ranked(own), called, every),
            f"{SHARE:.0%} summary": _scores(library, questions, _blended(own), called, every),
        }
        if section := AUTHORS.get(subject.one.name):
            written = sentences | _written(library, every, section)
            authors = _vectors(library, written, kept / f"{subject.one.name}-authors.npz")
            rows["authors' summary alone"] = _scores(library, questions, _alone(authors, every), called, every)
            rows["both, authors' summary"] = _scores(library, questions, _ranked(authors), called, every)
    for name, scores in rows.items():
        print(f"  {name:<26}" + "".join(f"{fmean(column):>8.3f}" for column in zip(*scores, strict=True)), flush=True)
    for better, worse in (
        ("chunks alone", "summary alone"),
        ("both", "chunks alone"),
        (f"{SHARE:.0%} summary", "chunks alone"),
    ):
        gains = [[new[0] - old[0]] for new, old in zip(rows[better], rows[worse], strict=True)]
        [(low, high)] = resampling.intervals(gains)
        print(f"  {better} – {worse}: {fmean(one[0] for one in gains):+.3f}  [{low:+.3f}, {high:+.3f}]")


Rank = Callable[[Question, SearchContext], Sequence[int]]


def _scores(
    library: Library,
    questions: Sequence[Question],
    rank: Rank,
    called: DocumentNames,
    every: Mapping[int, DocumentRecord],
) -> list[list[float]]:
    """Return the metrics of each question."""
    found, times = [], []
    for question in questions:
        parts = library.parts()
        start = perf_counter()
        ids = rank(question, parts)
        times.append(perf_counter() - start)
        names = dict.fromkeys(called.name_of(every[one].uid, question.relevant) for one in ids)
        found.append([measured(list(names), question.relevant) for measured in METRICS])
    print(f"  … {median(times) * 1000:.1f} ms a question", flush=True)
    return found


def _ranked(own: SummaryVectors) -> Rank:
    def rank(question: Question, context: SearchContext) -> list[int]:
        request = search.Request(
            question.text, context.settings.of_collection(context.collection.name).retrieval, DEPTH
        )
        order = search.ranked_candidates(request, context)
        return [one.document_id for one in best_documents(order, context, own)[:DEPTH]]

    return rank


def _blended(own: SummaryVectors) -> Rank:
    def rank(question: Question, context: SearchContext) -> list[int]:
        request = search.Request(
            question.text, context.settings.of_collection(context.collection.name).retrieval, DEPTH
        )
        found = best_documents(search.ranked_candidates(request, context), context, NONE)[: 4 * DEPTH]
        near = dict(zip(own.ids.tolist(), own.cosines(context.vectors.vector_of(question.text)).tolist(), strict=True))
        scores = {one.document_id: (1 - SHARE) * one.score + SHARE * near[one.document_id] for one in found}
        return sorted(scores, key=lambda one: -scores[one])[:DEPTH]

    return rank


def _alone(own: SummaryVectors, every: Mapping[int, DocumentRecord]) -> Rank:
    def rank(question: Question, context: SearchContext) -> list[int]:
        order = np.argsort(-own.cosines(context.vectors.vector_of(question.text)), kind="stable")
        return [one for one in own.ids[order[:DEPTH]].tolist() if one in every]

    return rank


def _briefs(library: Library) -> dict[int, DocumentRecord]:
    with library.app.catalog.read() as connection:
        ids = list(connection.scalars(select(schema.documents.c.id).order_by(schema.documents.c.id)))
        return document_queries.of_ids(connection, ids)


def _sentences(library: Library, every: Mapping[int, DocumentRecord]) -> dict[int, str]:
    """Return document id → what level 1 shows as its summary."""
    with library.app.catalog.read() as connection:
        found = library.staged.texts.summaries_of(connection, list(every.values()))
    return {one: found[one].text or brief.title for one, brief in every.items()}


def _written(library: Library, every: Mapping[int, DocumentRecord], section: str) -> dict[int, str]:
    """Return document id → what stands under the first heading called ``section``."""
    found: dict[int, str] = {}
    with library.app.catalog.read() as connection:
        for one, brief in every.items():
            if brief.kind != "markdown":
                continue
            text = documents.text(connection, one)
            for heading in headings(Document(text, brief.title, "markdown")):
                body = text[heading.start : heading.end].partition("\n")[2]
                if heading.title.casefold() == section and len(body.strip()) >= _MIN_CHARS:
                    found[one] = " ".join(body.split())[:_MAX_CHARS]
                    break
    return found


def _vectors(library: Library, texts: Mapping[int, str], kept: Path) -> SummaryVectors:
    """Return the vectors of ``texts``, from ``kept`` where they are there."""
    ids = np.array(sorted(texts), np.int64)
    digest = hashlib.sha256("\0".join(texts[one] for one in ids.tolist()).encode()).hexdigest()
    if kept.is_file():
        with np.load(kept) as known:
            if str(known["digest"]) == digest:
                return SummaryVectors(ids, known["vectors"], 0)
    embedder = library.app.embedder
    vectors = embedder.embed([readable(texts[one], embedder) for one in ids.tolist()])
    kept.parent.mkdir(parents=True, exist_ok=True)
    np.savez(kept, vectors=vectors, digest=np.array(digest))
    return SummaryVectors(ids, vectors, 0)


if __name__ == "__main__":
    main()
