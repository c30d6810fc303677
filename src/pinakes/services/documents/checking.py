"""Validation of what callers give of a document: texts, titles, tags, metadata."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from pinakes.core.errors import InvalidInput
from pinakes.core.records import JSON
from pinakes.parsing.decode import scrub

MAX_TITLE_CHARS = 1000
MAX_URI_CHARS = 4096
MAX_SUMMARY_CHARS = 4000
MAX_TAG_CHARS = 200
MAX_METADATA_CHARS = 20_000
MAX_METADATA_DEPTH = 50


def checked_title(title: str) -> str:
    """Return a title in one line.

    Raises:
        InvalidInput: it is empty or too long.
    """
    title = " ".join(scrub(title).split())
    if not title:
        raise InvalidInput("Title must not be empty", hint="Say what the document is called.")
    check_length("title", title, MAX_TITLE_CHARS)
    return title


def checked_text(text: str) -> str:
    """Return a text with plain newlines and without control characters.

    Raises:
        InvalidInput: there is nothing in it.
    """
    text = scrub(text)
    if not text.strip():
        raise InvalidInput("Text must not be empty", hint="Give the document some text.")
    return text


def checked_summary(summary: str) -> str:
    """Return a summary without blanks around it.

    Raises:
        InvalidInput: it is too long.
    """
    summary = scrub(summary).strip()
    check_length("summary", summary, MAX_SUMMARY_CHARS)
    return summary


def check_length(what: str, text: str, most: int) -> None:
    """Refuse a text that is too long.

    Raises:
        InvalidInput: it is.
    """
    if len(text) > most:
        raise InvalidInput(f"The {what} {text[:40]!r}… has {len(text)} characters.", hint=f"At most {most}.")


def checked_tags(tags: Sequence[str]) -> tuple[str, ...]:
    """Return tags without blanks around them, each once.

    Raises:
        InvalidInput: they are no list of texts, or one is too long.
    """
    if isinstance(tags, str) or not all(isinstance(tag, str) for tag in tags):
        raise InvalidInput(f"Tags cannot be {tags!r}.", hint="Give a list of texts.")
    clean = dict.fromkeys(word for tag in tags if (word := scrub(tag).strip()))
    for tag in clean:
        check_length("tag", tag, MAX_TAG_CHARS)
    return tuple(clean)


def _depth(value: JSON) -> int:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()
    return 1 + max(map(_depth, inner), default=0)


def checked_metadata(metadata: Mapping[str, Any]) -> dict[str, JSON]:
    """Return metadata that can be kept as JSON.

    Raises:
        InvalidInput: it cannot, or is too long.
    """
    try:
        if not all(isinstance(name, str) and name.strip() for name in metadata):
            raise ValueError("the name of a field must be a text")
        text = json.dumps(dict(metadata), ensure_ascii=False, allow_nan=False)
        kept: dict[str, JSON] = json.loads(text.encode())
        if _depth(kept) > MAX_METADATA_DEPTH:
            raise ValueError(f"it is nested more than {MAX_METADATA_DEPTH} deep")
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInput(
            f"Metadata cannot be kept: {error}.", hint="Use texts, numbers, true, false, and lists or objects of them."
        ) from error
    check_length("metadata", text, MAX_METADATA_CHARS)
    if isinstance(kept.get("tags"), list):
        kept["tags"] = list(checked_tags(kept["tags"]))
    if not isinstance(source := kept.get("source"), str | None):
        kept["source"] = json.dumps(source, ensure_ascii=False)
    return kept
