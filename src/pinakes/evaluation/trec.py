"""TREC files: queries as tab-separated values, judgements (see ``questions.read_qrels``), and runs."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from pathlib import Path

from pinakes.core.errors import storing
from pinakes.evaluation.questions import columns, rows, text_of, wrong


def read_queries(path: Path) -> dict[str, str]:
    """Return query id → text of a file of ``id<TAB>text`` lines, or of JSON lines (``.jsonl``, ``.jsonl.gz``).

    JSON lines name the id ``_id`` or ``id``, the text ``text`` or ``query``.

    Raises:
        NotFound, InvalidInput: no such file, or a line that is not of the format; the message names it.
    """
    found: dict[str, str] = {}
    pairs = _json_queries(path) if ".jsonl" in path.suffixes else _tsv_queries(path)
    for number, query_id, text in pairs:
        if query_id in found:
            raise wrong(path, number, f"the id {query_id!r} was there before", "Give every query an id of its own.")
        found[query_id] = text
    return found


def read_run(path: Path) -> dict[str, list[str]]:
    """Return the rankings of a TREC run with lines of query, ``Q0``, document, rank, score, tag.

    As in trec_eval the score decides, not the rank; equal scores are ordered by document, backwards.

    Raises:
        NotFound, InvalidInput: no such file, or a line that is not of the format; the message names it.
    """
    scored: dict[str, dict[str, float]] = {}
    for number, line in enumerate(text_of(path).split("\n"), start=1):
        cells = columns(line)
        if not cells:
            continue
        if len(cells) != 6:
            raise wrong(path, number, f"it has {len(cells)} columns, not the 6 of a TREC run")
        query_id, _, document, _, word, _ = cells
        if document in scored.setdefault(query_id, {}):
            raise wrong(path, number, f"{document!r} was ranked for {query_id!r} before", "Rank each document once.")
        scored[query_id][document] = _score(path, number, word)
    return {
        query_id: [name for _, name in sorted(((score, name) for name, score in documents.items()), reverse=True)]
        for query_id, documents in scored.items()
    }


def write_run(path: Path, answers: Iterable[tuple[str, Sequence[str], Sequence[float]]], tag: str) -> None:
    """Write (query id, documents, scores) as a TREC run, separated by tabs.

    Scores are made to fall from line to line, so that every reader finds the same order.

    Raises:
        StorageFull: the file cannot be written.
    """
    lines: list[str] = []
    for query_id, documents, scores in answers:
        last = math.inf
        for rank, (document, score) in enumerate(zip(documents, scores, strict=True), start=1):
            last = min(score, last - 1e-6)
            lines.append(f"{query_id}\tQ0\t{document}\t{rank}\t{last:.6f}\t{tag}\n")
    with storing(str(path)):
        path.write_text("".join(lines), "utf-8")


def _tsv_queries(path: Path) -> Iterable[tuple[int, str, str]]:
    for number, line in enumerate(text_of(path).split("\n"), start=1):
        if line.strip():
            query_id, tab, text = line.partition("\t")
            if not tab or not text.strip():
                raise wrong(path, number, "it is not an id, a tab and the question")
            yield number, query_id.strip(), text.strip()


def _json_queries(path: Path) -> Iterable[tuple[int, str, str]]:
    for number, row in rows(path):
        query_id, text = row.get("_id", row.get("id")), row.get("text", row.get("query"))
        if query_id is None or not isinstance(text, str) or not text.strip():
            raise wrong(path, number, "it lacks `_id` or `text`")
        yield number, str(query_id), text


def _score(path: Path, number: int, word: str) -> float:
    try:
        score = float(word)
    except ValueError:
        score = math.nan
    if math.isnan(score):
        raise wrong(path, number, f"the score {word!r} is not a number")
    return score
