"""Loading of questions: golden sets (our own format, a BEIR folder, TREC), and plain text for comparisons."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from pathlib import Path

from pinakes.core.errors import InvalidInput
from pinakes.evaluation.questions import GoldenSet, Question, read_beir, read_golden, read_qrels, rows, text_of
from pinakes.evaluation.trec import read_queries


def read(
    golden: Path | None, *, queries: Path | None = None, qrels: Path | None = None, texts: bool = True
) -> GoldenSet:
    """Return the questions of a golden file or BEIR folder, or of TREC's ``queries`` and ``qrels``.

    ``qrels`` also replaces the judgements of a BEIR folder. Without ``texts`` judgements alone will do: nothing is
    going to be asked.

    Raises:
        NotFound, InvalidInput: something is missing or not of its format; the message names file and line.
    """
    notes: tuple[str, ...] = ()
    if golden is not None and golden.is_dir():
        if queries is not None:
            raise InvalidInput("A BEIR folder has its own queries.", hint="Leave --queries out.")
        place, questions = golden, read_beir(golden, qrels)
    elif golden is not None:
        if queries is not None or qrels is not None:
            raise InvalidInput(
                f"{golden} is a file of questions: --queries and --qrels do not go with it.",
                hint="Give either a golden file, or --queries and --qrels.",
            )
        place, questions = golden, read_golden(golden)
    elif qrels is not None and (queries is not None or not texts):
        place = qrels
        questions, notes = _from_trec(qrels, queries)
    else:
        raise InvalidInput(
            "No questions were given.", hint="Give a golden file, a BEIR folder, or --queries and --qrels."
        )
    if not any(question.answerable for question in questions):
        raise InvalidInput(
            f"{place} has no judged question: none has a relevant document.",
            hint="At least one question needs a document with a grade above 0.",
        )
    return GoldenSet(_name(place), place, tuple(questions), notes)


def read_any(path: Path) -> GoldenSet:
    """Return the questions of a BEIR folder, a golden file, BEIR or TREC queries, or plain text with one a line.

    Names decide: ``.jsonl`` is a golden file when its first line has ``relevant``, else queries; ``.tsv`` is queries
    (id, tab, text); all else is plain text, where the number of a line is the id of its question.

    Raises:
        NotFound, InvalidInput: it is not there, not of the format, or holds no question.
    """
    if path.is_dir():
        return read(path)
    if ".jsonl" in path.suffixes:
        first = next((row for _, row in rows(path)), {})
        if "relevant" in first:
            return read(path)
    if ".jsonl" in path.suffixes or ".tsv" in path.suffixes:
        questions = [Question(query_id, text, {}) for query_id, text in read_queries(path).items()]
    else:
        lines = enumerate(text_of(path).splitlines(), start=1)
        questions = [Question(str(number), line.strip(), {}) for number, line in lines if line.strip()]
    if not questions:
        raise InvalidInput(f"{path} holds no question.", hint="Write one a line.")
    return GoldenSet(path.name.partition(".")[0], path, tuple(questions))


def digest(questions: Sequence[Question]) -> str:
    """Return a fingerprint of a set of questions, 16 hex digits, independent of its file format."""
    fields = sorted(
        [question.id, question.text, sorted(question.relevant.items()), question.kind, repr(question.where)]
        for question in questions
    )
    return hashlib.sha256(json.dumps(fields).encode()).hexdigest()[:16]


def _from_trec(qrels: Path, queries: Path | None) -> tuple[list[Question], tuple[str, ...]]:
    judged = read_qrels(qrels)
    if queries is None:
        return [Question(query_id, "", grades) for query_id, grades in judged.items()], ()
    texts = read_queries(queries)
    silent = [query_id for query_id in judged if query_id not in texts]
    found = [Question(query_id, text, judged[query_id]) for query_id, text in texts.items() if query_id in judged]
    if not silent:
        return found, ()
    names = ", ".join(silent[:5]) + (", …" if len(silent) > 5 else "")
    return found, (f"{len(silent)} judged queries have no text in {queries.name} and are left out: {names}",)


def _name(place: Path) -> str:
    """Return the name of a set: that of its folder or file; for a file named "golden", that of its folder too."""
    if place.is_dir():
        return place.resolve().name
    stem = place.name.removesuffix(".gz").partition(".")[0]
    return f"{place.resolve().parent.name}-{stem}" if stem in ("golden", "qrels", "test", "questions") else stem
