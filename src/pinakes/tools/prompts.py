"""The prompts that MCP lists, and their texts within a budget. The prompts themselves are those of staged retrieval."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import TypeAlias, get_type_hints

from pinakes.core.errors import InvalidInput, NotFound
from pinakes.core.records import JSON
from pinakes.models.token_counts import TokenCounter
from pinakes.settings import Settings, Toolset
from pinakes.tools.failures import how_on

Prompt: TypeAlias = Callable[..., str]

_TOOLSET: Toolset = "retrieve"
_SPARE = 100
"""Tokens kept for what says that a prompt was cut."""


def prompts_of(settings: Settings) -> tuple[Prompt, ...]:
    """Return the prompts that go with the tools that ``settings`` offer: they name those of one toolset."""
    if _TOOLSET not in settings.toolsets:
        return ()
    prompts: tuple[Prompt, ...] = import_module("pinakes.compat.staged").PROMPTS
    return prompts


def prompt_listing(prompt: Prompt) -> dict[str, JSON]:
    """Return ``prompt`` as MCP lists it."""
    hints = get_type_hints(prompt, include_extras=True)
    return {
        "name": prompt.__name__,
        "description": inspect.getdoc(prompt),
        "arguments": [
            {"name": name, "description": hints[name].__metadata__[0].description, "required": True}
            for name in inspect.signature(prompt).parameters
        ],
    }


def prompted(settings: Settings, name: str, arguments: Mapping[str, str], counter: TokenCounter | None = None) -> str:
    """Return the text of a prompt, where a ``counter`` counts within ``mcp.max_tokens``: what is cut then says so.

    Raises:
        NotFound: there is none of that name.
        InvalidInput: an argument is missing or unknown.
    """
    offered = {prompt.__name__: prompt for prompt in prompts_of(settings)}
    if name not in offered:
        hint = f"There are: {', '.join(offered)}." if offered else f"None is offered here. {how_on(_TOOLSET)}"
        raise NotFound(f"There is no prompt {name!r}.", hint=hint)
    wanted = list(inspect.signature(offered[name]).parameters)
    if set(arguments) != set(wanted):
        raise InvalidInput(f"The prompt {name!r} takes {' and '.join(wanted)}.", hint="Give each, and no other.")
    most = settings.mcp.max_tokens
    if counter is None or not most:
        return offered[name](**arguments)
    return _within(offered[name], arguments, counter, most)


def _within(prompt: Prompt, arguments: Mapping[str, str], counter: TokenCounter, most: int) -> str:
    """Return the text of a prompt, of whose longest argument so much is left out that ``most`` tokens are enough."""
    text, size = prompt(**arguments), 0
    longest = max(arguments, key=lambda name: len(arguments[name]))
    given = arguments[longest]
    end = len(given)
    while end and (size := counter.count(text)) > most:
        kept = counter.count(given[:end]) - (size - most) - (_SPARE if end == len(given) else 1)
        end = min(end - 1, counter.prefix(given, max(0, kept)))
        line = given.rfind("\n", end // 2, end) + 1
        end = line or end
        shown = f"{end} of the {len(given)} characters of {longest} are above"
        how = f"{shown}: ask for {prompt.__name__} again with the rest."
        text = f"{prompt(**{**arguments, longest: given[:end]})}\n\n(Cut at {most} tokens. {how})"
    return text
