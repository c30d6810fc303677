"""Questions with known answers: our golden files (JSON lines) and BEIR folders."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pinakes.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Question:
    """A question; ``relevant`` is document → grade, empty when no document answers it."""

    id: str
    text: str
    relevant: Mapping[str, int]
    kind: str = ""


def read_golden(path: Path) -> list[Question]:
    """Return the questions of a golden file: one JSON object a line with query, relevant and perhaps kind.

    Raises:
        InvalidInput: a line that is not of that form; the message names it.
    """
    questions = []
    for number, row in _rows(path):
        try:
            relevant = {str(document): int(grade) for document, grade in row["relevant"].items()}
            questions.append(
                Question(str(row.get("id", number)), str(row["query"]), relevant, str(row.get("kind", "")))
            )
        except (KeyError, AttributeError, TypeError, ValueError) as error:
            raise _wrong(path, number, f"it lacks or misuses {error}") from error
    return questions


def read_beir(folder: Path) -> list[Question]:
    """Return the judged questions of a BEIR folder: queries.jsonl and qrels.tsv (with a header line).

    Raises:
        InvalidInput: a line that is not of the format; the message names it.
    """
    relevant: dict[str, dict[str, int]] = {}
    for number, line in enumerate((folder / "qrels.tsv").read_text("utf-8").splitlines()[1:], start=2):
        try:
            query_id, document, grade = line.split("\t")
            relevant.setdefault(query_id, {})[document] = int(grade)
        except ValueError as error:
            raise _wrong(folder / "qrels.tsv", number, "it is not query-id, corpus-id and score") from error
    rows = (row for _, row in _rows(folder / "queries.jsonl"))
    return [
        Question(str(row["_id"]), str(row["text"]), relevant[str(row["_id"])], str(row.get("kind", "")))
        for row in rows
        if str(row["_id"]) in relevant
    ]


def _rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    for number, line in enumerate(path.read_text("utf-8").splitlines(), start=1):
        if line.strip():
            try:
                yield number, json.loads(line)
            except ValueError as error:
                raise _wrong(path, number, f"it is not JSON ({error})") from error


def _wrong(path: Path, number: int, why: str) -> InvalidInput:
    return InvalidInput(f"{path.name} line {number} cannot be used: {why}.", hint="Mend or remove that line.")
