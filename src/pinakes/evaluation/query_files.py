"""Loading of questions for a comparison: with judgements, or as plain text with one question per line."""

from __future__ import annotations

from pathlib import Path

from pinakes.core.errors import InvalidInput
from pinakes.evaluation.golden import read
from pinakes.evaluation.questions import GoldenSet, Question, rows, text_of
from pinakes.evaluation.trec import read_queries


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
