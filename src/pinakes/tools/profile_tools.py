"""Searches that a profile declares as tools of their own."""

from __future__ import annotations

import string
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any

from pydantic import Field

from pinakes.core.errors import InvalidSetting, PinakesError
from pinakes.core.records import JSON, Hit
from pinakes.library import Library
from pinakes.settings import NamedSearch
from pinakes.text.injection import WARNING
from pinakes.text.page_numbers import page_words
from pinakes.text.quoting import one_line
from pinakes.tools.declare import Tool, parameters_model


@dataclass(frozen=True, slots=True)
class TextAnswer:
    """An answer that is text alone, as its template wants it."""

    text: str
    document_ids: tuple[str, ...] = ()

    def as_text(self) -> str:
        return self.text

    def as_data(self) -> None:
        return None

    def found(self) -> tuple[str, ...]:
        """Return the documents it is about."""
        return self.document_ids


def named_tool(named: NamedSearch) -> Tool:
    """Return the tool that ``named`` declares.

    Raises:
        InvalidSetting: its template cannot be parsed.
    """
    try:
        list(_Template().parse(named.hit))
    except ValueError as error:
        raise InvalidSetting(
            f"The template of {named.name!r} cannot be used: {error}.", hint="Write {{ for a brace."
        ) from error

    def run(library: Library, query: str, top_k: int) -> TextAnswer:
        results = library.search(query, named.collection, top_k=top_k)
        if not results.hits:
            if results.degraded:
                raise PinakesError(results.degraded)
            return TextAnswer(named.empty)
        limits = [results.degraded, *results.notes] if results.degraded else results.notes
        notes = [f"Note: {limit}." for limit in limits]
        notes += [f"Note: {one_line(hit.path)} is suspicious: {WARNING}." for hit in results.hits if hit.suspicious]
        documents = tuple(hit.document_id for hit in results.hits)
        return TextAnswer("\n".join([*(rendered(named.hit, hit) for hit in results.hits), *notes]), documents)

    query = Annotated[str, Field(description=named.query_description)]
    top_k = Annotated[int, Field(description=named.top_k_description, ge=1, json_schema_extra={"type": "number"})]
    return Tool(
        name=named.name,
        description=named.description,
        toolset="named",
        function=run,
        parameters=parameters_model(named.name, {"query": (query, ...), "top_k": (top_k, named.top_k)}),
        collection=named.collection,
        on_error=named.error,
    )


def rendered(template: str, hit: Hit) -> str:
    """Return ``template`` filled with a hit's fields and its metadata; what is missing leaves nothing."""
    own = {
        "title": hit.title,
        "text": hit.text,
        "score": hit.score,
        "approximate": "~" if hit.approximate else "",
        "path": hit.path,
        "uri": hit.uri,
        "link": hit.link,
        "lines": f"{hit.start_line}-{hit.end_line}",
        "pages": page_words(hit.page, hit.page_end),
        "heading": " > ".join(hit.heading_path),
        "passage": "\n".join(filter(None, [hit.section, hit.text])),
        "collection": hit.collection,
        "chunk_id": hit.chunk_id,
        "document_id": hit.document_id,
    }
    return _Template().vformat(template, (), {**hit.metadata, **own})


class _Template(string.Formatter):
    """Format strings with plain names only, in which an unknown name stands for nothing."""

    def get_field(self, field_name: str, _args: Sequence[Any], kwargs: Mapping[str, JSON]) -> tuple[Any, str]:
        return kwargs.get(field_name, ""), field_name

    def format_field(self, value: Any, format_spec: str) -> str:
        if value == "" or value is None:
            return ""
        try:
            return format(value, format_spec)
        except (TypeError, ValueError):
            return str(value)
