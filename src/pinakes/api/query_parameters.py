"""Query parameters of routes that refuse what they do not know."""

from __future__ import annotations

from fastapi import Request
from fastapi.exceptions import RequestValidationError


def only_known(request: Request) -> None:
    """Refuse a request with a parameter that its route does not have: a filter that is misspelt would not hold.

    Raises:
        RequestValidationError: it has one.
    """
    known = [one.alias for one in request.scope["route"].dependant.query_params]
    if unknown := [name for name in request.query_params if name not in known]:
        there = f"there are {', '.join(known)}" if known else "there are none"
        words = "there is no such parameter; " + there
        raise RequestValidationError(
            [{"type": "extra_forbidden", "loc": ("query", name[:100]), "msg": words} for name in unknown]
        )
