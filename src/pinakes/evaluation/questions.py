"""Questions with known answers: our golden files (JSON lines) and BEIR folders."""

from __future__ import annotations

import gzip
import json
import math
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pinakes.core.errors import InvalidFilter, InvalidInput, NotFound
from pinakes.core.filters import parse
from pinakes.core.records import JSON, Filter
from pinakes.settings import shortened

Qrels = dict[str, dict[str, float]]
"""Query id → document → grade."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question; ``relevant`` is document → grade, empty when no document answers it."""

    id: str
    text: str
    relevant: Mapping[str, float]
    kind: str = ""
    where: Filter = ()

    @property
    def answerable(self) -> bool:
        """Whether any document answers it."""
        return any(grade > 0 for grade in self.relevant.values())


def read_golden(path: Path) -> list[Question]:
    """Return the questions of a golden file: one JSON object a line.

    ``query``, ``relevant`` (document → grade), perhaps ``id`` (else the number of the line), ``kind``, ``filters``.

    Raises:
        NotFound, InvalidInput: no such file, or a line that is not of that form; the message names it.
    """
    questions: list[Question] = []
    lines: dict[str, int] = {}
    for number, row in rows(path):
        questions.append(_question(path, number, row))
        check_new(questions[-1].id, lines, path, number, "id", "question")
    return questions


def read_beir(folder: Path, qrels: Path | None = None) -> list[Question]:
    """Return the judged questions of a BEIR folder: ``queries.jsonl`` and ``qrels.tsv`` or ``qrels/test.tsv``.

    ``.gz`` may follow each name; ``qrels`` is another file of judgements.

    Raises:
        NotFound, InvalidInput: a file is missing or not of the format; the message names file and line.
    """
    judged = read_qrels(qrels or _beir_qrels(folder))
    queries = beir_file(folder, "queries.jsonl")
    questions: list[Question] = []
    seen: dict[str, int] = {}
    for number, row in rows(queries):
        if "_id" not in row or not isinstance(row.get("text"), str):
            raise wrong(queries, number, "it lacks `_id` or `text`")
        query_id = str(row["_id"])
        check_new(query_id, seen, queries, number, "_id", "query")
        if query_id in judged:
            questions.append(Question(query_id, row["text"], judged[query_id], str(row.get("kind", ""))))
    return questions


def read_qrels(path: Path) -> Qrels:
    """Return the judgements of a file: query, document, grade (BEIR, with a heading), or TREC's four columns.

    Raises:
        NotFound, InvalidInput: no such file, or a line that is not of the format; the message names it.
    """
    found: Qrels = {}
    for number, line in enumerate(text_of(path).split("\n"), start=1):
        cells = columns(line)
        if not cells or (number == 1 and cells[0] == "query-id"):
            continue
        if len(cells) == 4:
            cells = [cells[0], *cells[2:]]
        if len(cells) != 3:
            raise wrong(path, number, f"it has {len(cells)} columns, not 3 (BEIR) or 4 (TREC)")
        query_id, document, word = cells
        value = _grade(path, number, document, word)
        grades = found.setdefault(query_id, {})
        if grades.get(document, value) != value:
            why = f"{document!r} was judged for {query_id!r} before, with another grade"
            raise wrong(path, number, why, "Keep one grade of each document.")
        grades[document] = value
    return found


def beir_file(folder: Path, name: str) -> Path:
    """Return the file ``name`` of a BEIR folder, which may be packed.

    Raises:
        NotFound: there is none.
    """
    for path in (folder / name, folder / f"{name}.gz"):
        if path.is_file():
            return path
    raise NotFound(
        f"{folder} is no BEIR folder: it has no {name}.",
        hint="A BEIR folder holds queries.jsonl, qrels.tsv or qrels/test.tsv, and perhaps corpus.jsonl.",
    )


def rows(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield line number and object of each line of a file of JSON lines; empty lines and null fields are passed over.

    Raises:
        NotFound, InvalidInput: no such file, or a line that is no JSON object; the message names it.
    """
    for number, line in enumerate(text_of(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise wrong(path, number, f"it is not JSON ({_complaint(error)})") from error
        if not isinstance(row, dict):
            raise wrong(path, number, "it is no JSON object")
        yield number, {name: value for name, value in row.items() if value is not None}


def columns(line: str) -> list[str]:
    """Return the cells of a line: between tabs where it has any, else between spaces."""
    return [cell.strip() for cell in line.split("\t")] if "\t" in line else line.split()


def text_of(path: Path) -> str:
    """Return the text of a file, unpacked where its name ends in ``.gz``.

    Raises:
        NotFound: there is no such file.
        InvalidInput: it is no UTF-8 text, or is empty.
    """
    try:
        data = gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()
        text = data.decode("utf-8-sig")
    except FileNotFoundError as error:
        raise NotFound(f"There is no file {str(path)!r}.", hint="Check the path.") from error
    except (OSError, EOFError, zlib.error, UnicodeDecodeError) as error:
        raise InvalidInput(f"{path} cannot be read: {error}.", hint="It has to be text in UTF-8.") from error
    if not text.strip():
        raise InvalidInput(f"{path} is empty.", hint="See docs/evaluation.md for what it has to hold.")
    return text


def wrong(path: Path, number: int, why: str, hint: str = "Mend or remove that line.") -> InvalidInput:
    """Return the error for a line that cannot be used."""
    return InvalidInput(f"{path.name} line {number} cannot be used: {why}.", hint=hint)


def check_new(one: str, lines: dict[str, int], path: Path, number: int, name: str, what: str) -> None:
    """Note in ``lines`` that line ``number`` has the id ``one``, which no line before it may have.

    Raises:
        InvalidInput: one has; ``name`` is that of the field of the id, ``what`` what it is the id of.
    """
    if one in lines:
        why = f"line {lines[one]} has the {name} {one!r}, too"
        raise wrong(path, number, why, f"Give every {what} an id of its own.")
    lines[one] = number


def _complaint(error: Exception) -> str:
    """Return why a line is not JSON, without the number of the line, which is always 1 here."""
    return f"{error.msg}, column {error.colno}" if isinstance(error, json.JSONDecodeError) else str(error)


def _question(path: Path, number: int, row: Mapping[str, JSON]) -> Question:
    query, relevant = row.get("query"), row.get("relevant")
    if not isinstance(query, str) or not query.strip():
        raise wrong(path, number, _wrong_field(row, "query", "the question as text"))
    if not isinstance(relevant, dict):
        raise wrong(
            path, number, _wrong_field(row, "relevant", "an object of document and grade; {} = no answer exists")
        )
    grades = {str(document): _grade(path, number, document, grade) for document, grade in relevant.items()}
    try:
        where = parse(row.get("filters"))
    except (InvalidFilter, AttributeError) as error:
        raise wrong(path, number, f"its `filters` cannot be used: {error}") from error
    return Question(str(row.get("id", number)), query, grades, str(row.get("kind", "")), where)


def _wrong_field(row: Mapping[str, JSON], name: str, wanted: str) -> str:
    """Say that a line lacks a field, or that it holds something else than ``wanted``."""
    if name not in row:
        return f"it lacks `{name}`, {wanted}"
    return f"its `{name}` is {shortened(row[name])}, which has to be {wanted}"


def _grade(path: Path, number: int, document: str, grade: JSON) -> float:
    try:
        value = math.nan if isinstance(grade, bool) else float(grade)
    except (TypeError, ValueError, OverflowError):
        value = math.nan
    if not math.isfinite(value):
        raise wrong(path, number, f"the grade of {document!r} is {shortened(grade)}, not a number", "Write 0, 1, 2 …")
    return int(value) if value.is_integer() else value


def _beir_qrels(folder: Path) -> Path:
    for path in (folder / "qrels.tsv", folder / "qrels.tsv.gz", folder / "qrels" / "test.tsv"):
        if path.is_file():
            return path
    splits = sorted((folder / "qrels").glob("*.tsv"))
    if len(splits) == 1:
        return splits[0]
    if splits:
        names = ", ".join(path.name for path in splits)
        raise InvalidInput(f"{folder} has several files of judgements: {names}.", hint="Name one with --qrels FILE.")
    return beir_file(folder, "qrels.tsv")


@dataclass(frozen=True, slots=True)
class GoldenSet:
    """Questions with their origin. ``notes``: what was skipped, as text."""

    name: str
    place: Path
    questions: tuple[Question, ...]
    notes: tuple[str, ...] = field(default=())
