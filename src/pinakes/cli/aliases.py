"""Other spellings of the commands, for those who know them from elsewhere. They work, but are not listed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated

import typer

from pinakes.cli.commands import app
from pinakes.cli.managing import verify
from pinakes.cli.options import (
    AddOptions,
    Collection,
    Searched,
    SearchOptions,
    command,
)
from pinakes.cli.session import Session

_Path = Annotated[str, typer.Option("--path", metavar="PATH|URL", help="What to read.")]
_Type = Annotated[
    str | None, typer.Option("--type", metavar="TYPE", help="Accepted; the type is found from the file itself.")
]


@command(app, "query", hidden=True)
def query(
    session: Session,
    text: Annotated[str, typer.Argument(metavar="TEXT", help="What to look for.")],
    content_types: Annotated[
        str | None, typer.Option("--content-types", metavar="A,B", help="Only where `content_type` is one of these.")
    ] = None,
    paths: Annotated[
        Sequence[str], typer.Option("--paths", metavar="GLOB", help="Only such paths. May be repeated.")
    ] = (),
    min_similarity: Annotated[
        float, typer.Option("--min-similarity", metavar="X", help="Least similarity: cosine of query and chunk.")
    ] = 0.0,
    collection: Searched = None,
    top_k: Annotated[int | None, typer.Option("--top-k", "-k", metavar="N", help="How many chunks.")] = None,
) -> None:
    """Find chunks, one line each."""
    from pinakes.cli import searching

    filters = [f"content_type={content_types}"] if content_types else []
    question = SearchOptions(text, [collection] if collection else None, top_k, filters=filters, paths=paths)
    searching.query(session, question, min_similarity)


@command(app, "index", hidden=True)
def index(session: Session, path: _Path, _type: _Type = None, collection: Collection = None) -> None:
    """Read one file or folder."""
    from pinakes.cli import adding

    adding.add(session, AddOptions([path], collection))


@command(app, "index-directory", hidden=True)
def index_directory(
    session: Session,
    path: _Path,
    _type: _Type = None,
    recursive: Annotated[bool, typer.Option("--recursive/--no-recursive", help="Read the folders below, too.")] = True,
    collection: Collection = None,
) -> None:
    """Read a folder."""
    from pinakes.cli import adding

    exclude = () if recursive else ("/*/**",)
    adding.add(session, AddOptions([path], collection, exclude=exclude))


command(app, "verify-index", hidden=True)(verify)
