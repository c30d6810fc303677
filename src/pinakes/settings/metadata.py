"""The settings of metadata: where the values of fields come from, and their types."""

from __future__ import annotations

import re
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator

from pinakes.settings.base import Section, refused

FieldType: TypeAlias = Literal["text", "number", "date", "date_dmy", "date_mdy", "boolean", "list"]
"""The type of a field's values; for dates also which number of ``03/05/2024`` is the day."""

Taken: TypeAlias = Literal[
    "path", "name", "path_date", "key", "header", "heading", "words", "git", "constant", "default"
]
"""Where a rule takes its value from; see ``metadata.rules``."""

GIT_FACTS = ("author", "authors", "commit_date", "first_date", "last_commit", "commit_subject")
"""The facts that a rule with take = git may use."""

_REGEX = ("name", "heading")
_NEEDS_WHAT = ("path", "key", "header", "heading", "git", "constant", "default")


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Texts: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class MetadataRule(Section):
    """How a metadata field gets its value. Of several rules for one field, the first that finds a value decides."""

    field: str = Field(min_length=1, description="The field that is set.")
    take: Taken = Field(description="Where from; see [metadata](queries.md#metadata-rules).")
    what: Texts = Field(
        (), description="What to take: a path template, key, header line name, regular expression, or text."
    )
    words: dict[str, Texts] = Field({}, description="take = words: each value, and the words that indicate it.")
    within: tuple[Literal["path", "title", "headings", "text"], ...] = Field(
        ("path", "title"), description="take = words: where the words are searched for."
    )
    several: bool = Field(
        False, description="take = words: take all matching values as a list, instead of the first one."
    )
    map: dict[str, str] = Field({}, description="Value found → value stored; case is ignored.")
    paths: Texts = Field((), description="Only for documents with paths like these.")

    @field_validator("what")
    @classmethod
    def _usable(cls, what: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        take = info.data.get("take")
        if take in _NEEDS_WHAT and not what:
            raise refused(f"is missing, which take = {take!r} needs")
        for one in what if take in _REGEX else ():
            try:
                re.compile(one)
            except re.error as error:
                raise refused(f"has {one!r}, which is no regular expression: {error}") from error
        if take == "git" and (unknown := [one for one in what if one not in GIT_FACTS]):
            raise refused(f"has {unknown[0]!r}, but git tells {', '.join(GIT_FACTS)}")
        return what
