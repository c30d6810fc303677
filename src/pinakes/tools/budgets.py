"""Answers within a budget of tokens: what is cut keeps its fields and says how to get the rest."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import accumulate
from typing import Final

from pinakes.core.records import JSON
from pinakes.models.token_counts import TokenCounter
from pinakes.tools.declare import Outcome, Tool, as_json

_SPARE: Final = 400
"""Tokens kept for what says that an answer was cut."""

_SHARE: Final = 0.9
"""Of the room that is left, so much is used: parts together may have some tokens more than each alone."""

_LEAST: Final = 24
"""Tokens of a field below which it is no use to keep more fields."""

_RECORD_FIELDS: Final = 40
"""An object with more fields than this is a table of entries, of which some may be left out."""

MOST_QUERY_CHARS: Final = 200
"""Of a longer query an answer over MCP repeats so much: who asked knows the rest, and would pay for it again."""

_ECHOES: Final = ("query", "question")
_PAGED: Final = frozenset(("kb_status",))
"""Tools whose answers say how to go on, which is another place where they are cut."""

_NAME_CHARS: Final = 256
"""What has no blanks and no more characters than these is an id, a name or an address, of no use in part."""

_MEASURED_CHARS: Final = 1 << 16
"""The tokens of longer parts of an answer are not all counted: they are cut anyway."""

_MOST_DEPTH: Final = 12
_NAMED_IDS: Final = 5
_TOKENS_OF_ID: Final = 25
_SUMMARY_CHARS: Final = (400, 240, 120, 60)
_TRIES: Final = 6

_SEARCHED: Final = (
    "What is left out scores lower: narrow the search (tags_filter, collection, other words), or open documents "
    "with get_documents."
)
_NEXT: Final[Mapping[str, str]] = {
    "search_summaries": _SEARCHED,
    "hybrid_search": _SEARCHED,
    "multi_query_search": _SEARCHED,
    "find_similar": _SEARCHED,
    "get_document_chunk": "Ask with neighbours=0, or for the chunk before or after by its chunk_index.",
    "retrieval_log": "Ask with a smaller last_n, or narrow it with tool_filter, outcome, since or text.",
    "collection_stats": "Ask with a smaller max_entries; HTTP gives all that is asked for.",
    "document_history": "Ask with version=0 for the list alone; get_documents reads the text part by part.",
    "metadata_report": "Ask for one collection, with missing=0 or with the fields that matter.",
    "list_sources": "Ask for one collection.",
    "semantic_search": "Ask with a smaller max_results, or a narrower filter (content_types, file_paths).",
    "manageKnowledge": "Search with a smaller limit, or a narrower uriFilter.",
    "ask": "Ask with fewer chunks.",
}
_MORE: Final = "Ask with a larger max_tokens."
_OTHERWISE: Final = "HTTP and the command line give it whole."


@dataclass(slots=True)
class _Cut:
    """What was left out of an answer: the place of a list or text → in words how much of it is there."""

    counter: TokenCounter
    said: dict[str, str] = field(default_factory=dict)
    dropped: dict[str, list[JSON]] = field(default_factory=dict)

    def size(self, value: JSON) -> int:
        """Return how many tokens ``value`` has, of a long one about how many: what is left is counted at the end."""
        text = as_json(value)
        if len(text) <= _MEASURED_CHARS:
            return self.counter.count(text)
        return self.counter.count(text[:_MEASURED_CHARS]) * len(text) // _MEASURED_CHARS

    def shrunk(self, value: JSON, most: int, place: str, depth: int = 0) -> JSON:
        """Return as much of ``value`` as ``most`` tokens allow; numbers and the names of fields stay."""
        if isinstance(value, str):
            return self._text(value, most, place)
        if depth >= _MOST_DEPTH or not isinstance(value, list | dict) or not value:
            return value
        if isinstance(value, list):
            return self._list(value, most, place, depth)
        return self._object(value, most, place, depth)

    def _text(self, value: str, most: int, place: str) -> str:
        if self.size(value) <= most or (len(value) <= _NAME_CHARS and not any(map(str.isspace, value))):
            return value
        end = self.counter.prefix(value, max(0, most))
        while end and self.size(value[:end]) > most:  # what JSON escapes takes more
            end = min(end - 1, int(end * _SHARE))
        line = value.rfind("\n", end // 2, end) + 1
        end = line or end
        self.said[place] = f"{end} of {len(value)} characters of {place}"
        return value[:end] + "…"

    def _list(self, value: list[JSON], most: int, place: str, depth: int) -> list[JSON]:
        kept = bisect_right(list(accumulate(self.size(one) + 1 for one in value)), most)
        if kept >= len(value):
            return value
        first = value[:kept] or [self.shrunk(value[0], most, f"{place}[0]" if place else "[0]", depth + 1)]
        if len(first) < len(value):
            self.said[place] = f"{len(first)} of {len(value)} {place}"
        self.dropped[place] = value[len(first) :]
        return first

    def _object(self, value: dict[str, JSON], most: int, place: str, depth: int) -> dict[str, JSON]:
        sizes = {name: self.size({name: one}) for name, one in value.items()}
        if sum(sizes.values()) <= most:
            return value
        if len(value) > _RECORD_FIELDS:
            names = list(value)
            kept = bisect_right(list(accumulate(sizes[name] for name in names)), most)
            self.said[place] = f"{kept} of {len(value)} {place}"
            return {name: value[name] for name in names[:kept]}
        cap = _level(sorted(sizes.values()), most)
        labels = {name: self.size(name) + 3 for name in value}
        return {
            name: one
            if sizes[name] <= cap
            else self.shrunk(one, max(_LEAST, cap - labels[name]), f"{place}.{name}" if place else name, depth + 1)
            for name, one in value.items()
        }


def with_short_query(tool: Tool, outcome: Outcome) -> Outcome:
    """Return ``outcome`` with the first characters of a long query that it repeats."""
    data = outcome.data or {}
    cut: dict[str, JSON] = {
        name: f"{query[:MOST_QUERY_CHARS]}…"
        for name in _ECHOES
        if isinstance(query := data.get(name), str) and len(query) > MOST_QUERY_CHARS
    }
    if not cut:
        return outcome
    data = {**data, **cut}
    is_json = outcome.text.startswith("{")
    return replace(outcome, text=tool.json(data) if is_json else outcome.text, data=data)


def within_budget(
    tool: Tool, arguments: Mapping[str, JSON], outcome: Outcome, counter: TokenCounter, most: int
) -> Outcome:
    """Return ``outcome`` with a text of at most ``most`` tokens; 0 = of any length."""
    if not most or counter.fits(outcome.text, most):
        return outcome
    if outcome.data is None or tool.returns is None:
        return _cut_text(tool, outcome, counter, most)
    data, room = outcome.data, most - _SPARE
    go_on = data.get("next")
    for chars in _SUMMARY_CHARS:
        shorter = _with_summaries(data, chars)
        if shorter is not None and counter.fits(tool.json(shorter), room):
            how = f"Summaries were cut after {chars} characters; get_document_chunk and get_documents show the text."
            return _marked_as_cut(tool, outcome, shorter, how)
    data = _with_summaries(data, _SUMMARY_CHARS[-2]) or data
    data = {name: one for name, one in data.items() if name != "next"}  # says nothing once it is cut
    kept_next = isinstance(go_on, str) and tool.name not in _PAGED and counter.fits(go_on, most // 2)
    for _ in range(_TRIES):
        cut = _Cut(counter)
        kept = cut.shrunk(data, room, "")
        assert isinstance(kept, dict)
        if kept_next:
            kept["next"] = go_on
        how = f"Cut at {most} tokens: {'; '.join(cut.said.values())} are shown. {_rest(tool, arguments, cut, most)}"
        made = _marked_as_cut(tool, outcome, kept, how)
        size = counter.count(made.text)
        if size <= most:
            return made
        room = min(room - 1, int(room * _SHARE * most / size))
    left = {name: _emptied(one) for name, one in data.items()}
    made = _marked_as_cut(tool, outcome, left, f"Cut at {most} tokens: nothing of it fits. {_otherwise(tool)}")
    return made if counter.fits(made.text, most) else _cut_text(tool, outcome, counter, most)


def _emptied(value: JSON) -> JSON:
    """Return nothing of the type of ``value``; numbers and truth values as they are."""
    return type(value)() if isinstance(value, str | list | dict) else value


def _rest(tool: Tool, arguments: Mapping[str, JSON], cut: _Cut, most: int) -> str:
    """Say how to get what was left out; ids of documents of a search take up to an eighth of ``most``."""
    if tool.name == "explain_retrieval" and cut.dropped.get("explanations"):
        ids = [one["doc_id"] for one in cut.dropped["explanations"] if isinstance(one, dict)]
        more = f" and the {len(ids) - _NAMED_IDS} after these" if len(ids) > _NAMED_IDS else ""
        return f"Ask again with doc_ids={as_json(ids[:_NAMED_IDS])}{more}."
    files = cut.dropped.get("manifest.files")
    if tool.name == "kb_status" and files:
        skip, given = str(arguments.get("offset") or 0), str(arguments.get("max_files") or "")
        asked = int(skip) if skip.isdecimal() else 0
        shown = cut.said["manifest.files"].split(" ", 1)[0]
        return f"Ask again with offset={asked + int(shown)}{f', max_files={given}' if given else ''}."
    found = [one["doc_id"] for one in cut.dropped.get("results", ()) if isinstance(one, dict) and "doc_id" in one]
    if named := found[: most // 8 // _TOKENS_OF_ID]:
        more = f" and {len(found) - len(named)} more" if len(found) > len(named) else ""
        return f"{_otherwise(tool)} Left out: doc_ids={as_json(named)}{more}."
    return _otherwise(tool)


def _otherwise(tool: Tool) -> str:
    return _MORE if tool.keeps_budget else _NEXT.get(tool.name, _OTHERWISE)


def _marked_as_cut(tool: Tool, outcome: Outcome, data: Mapping[str, JSON], how: str) -> Outcome:
    before = data.get("next")
    data = {**data, "truncated": True, "next": before if isinstance(before, str) else how}
    return replace(outcome, text=tool.json(data), data=data)


def _cut_text(tool: Tool, outcome: Outcome, counter: TokenCounter, most: int) -> Outcome:
    """Return ``outcome`` with its text cut after a line, and a note."""
    text = outcome.text
    end = counter.prefix(text, most - _SPARE // 4)
    end = text.rfind("\n", end // 2, end) + 1 or end
    how = _otherwise(tool)
    note = f"\n(Cut at {most} tokens: {end} of {len(text)} characters are shown. {how})"
    return replace(outcome, text=text[:end].rstrip() + note)


def _with_summaries(data: Mapping[str, JSON], chars: int) -> dict[str, JSON] | None:
    """Return the answer of a search with shorter summaries, None where it has none."""
    results = data.get("results")
    if not isinstance(results, list) or not any(isinstance(one, dict) and "summary" in one for one in results):
        return None
    return {**data, "results": [_shorter(one, chars) for one in results]}


def _shorter(one: JSON, chars: int) -> JSON:
    if not isinstance(one, dict) or not isinstance(one.get("summary"), str) or len(one["summary"]) <= chars:
        return one
    words = one["summary"][:chars].rsplit(" ", 1)[0]
    return {**one, "summary": f"{words}…"}


def _level(sizes: list[int], most: int) -> int:
    """Return the size that the largest of ``sizes``, ascending, may have for all to have ``most`` together."""
    left = most
    for number, size in enumerate(sizes):
        share = left // (len(sizes) - number)
        if size > share:
            return max(share, 1)
        left -= size
    return most
