"""The settings of where the metadata of documents comes from, and of what it has to be."""

from __future__ import annotations

import re
from typing import Annotated, Literal, TypeAlias

from pydantic import BeforeValidator, Field, ValidationInfo, field_validator
from pydantic_core import PydanticCustomError

from pinakes.settings.base import Section

FieldType: TypeAlias = Literal["text", "number", "date", "date_dmy", "date_mdy", "boolean", "list"]
"""What the values of a field are; of the dates, which number of ``03/05/2024`` is the day."""

Taken: TypeAlias = Literal[
    "path", "name", "path_date", "key", "header", "heading", "words", "git", "constant", "default"
]
"""Where a rule takes its value from; ``metadata.taken`` says what each means."""

GIT_FACTS = ("author", "authors", "commit_date", "first_date", "last_commit", "commit_subject")
"""What the history of a file gives a rule that takes from git."""

_REGEX = ("name", "heading")
_NEEDS_WHAT = ("path", "key", "header", "heading", "git", "constant", "default")


def _listed(value: object) -> object:
    return (value,) if isinstance(value, str) else value


Texts: TypeAlias = Annotated[tuple[str, ...], BeforeValidator(_listed)]


class MetadataRule(Section):
    """How a field of the metadata gets its value. Of several rules for one field the first that finds one decides."""

    field: str = Field(min_length=1, description="The field that is set.")
    take: Taken = Field(description="Where from; see [metadata](queries.md#metadata-rules).")
    what: Texts = Field(
        (), description="What to take there: a path template, a key, the name of a header line, an expression, a text."
    )
    words: dict[str, Texts] = Field({}, description="take = words: the value, and the words any of which stand for it.")
    within: tuple[Literal["path", "title", "headings", "text"], ...] = Field(
        ("path", "title"), description="take = words: where they are looked for."
    )
    several: bool = Field(False, description="take = words: all values that fit, as a list, not the first alone.")
    map: dict[str, str] = Field({}, description="What is found → what it is called, without regard to case.")
    paths: Texts = Field((), description="Only for documents with paths like these.")

    @field_validator("what")
    @classmethod
    def _usable(cls, what: tuple[str, ...], info: ValidationInfo) -> tuple[str, ...]:
        take = info.data.get("take")
        if take in _NEEDS_WHAT and not what:
            raise _refused(f"is missing, which take = {take!r} needs")
        for one in what if take in _REGEX else ():
            try:
                re.compile(one)
            except re.error as error:
                raise _refused(f"has {one!r}, which is no regular expression: {error}") from error
        if take == "git" and (unknown := [one for one in what if one not in GIT_FACTS]):
            raise _refused(f"has {unknown[0]!r}, but git tells {', '.join(GIT_FACTS)}")
        return what


def _refused(words: str) -> PydanticCustomError:
    return PydanticCustomError("told", "{words}", {"words": words})
