"""The options of ``evaluate``, ``tune`` and ``compare`` that mean the same: which questions, and the page to write."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, TypeAlias

import typer

Golden: TypeAlias = Annotated[
    Path | None,
    typer.Argument(metavar="GOLDEN", help="Questions with known answers: a file of JSON lines, or a BEIR folder."),
]
QuestionsBy: TypeAlias = Annotated[
    str | None, typer.Option("--by", metavar="FIELD", help="Questions name documents by this metadata field.")
]
Queries: TypeAlias = Annotated[
    Path | None, typer.Option("--queries", metavar="FILE", help="TREC: questions as id, tab, text, or JSON lines.")
]
Qrels: TypeAlias = Annotated[
    Path | None, typer.Option("--qrels", metavar="FILE", help="TREC or BEIR: the judgements of the questions.")
]
HtmlReport: TypeAlias = Annotated[
    Path | None, typer.Option("--html", metavar="FILE", help="Write the report as one HTML page with plots.")
]
