"""A question of a command goes to the server of the home that runs, which has everything loaded: three times as fast.

It is asked only where it answers as this process would: see ``instance.answers``. Whatever is wrong with it, this
process answers by itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from contextlib import closing
from typing import Final
from urllib.parse import urlsplit

from pinakes.api.instance import COMMANDS, HEADER, Instance, for_commands, of_other_version
from pinakes.cli.session import Session
from pinakes.core.errors import InvalidInput, NotFound, PinakesError, kind_of
from pinakes.core.records import JSON, Results

_CONNECT_TIMEOUT_S: Final = 0.5
_GRACE_S: Final = 5.0


def answer_of_server(session: Session, question: Mapping[str, JSON]) -> Results | None:
    """Return what the server of this home answers to ``question``, the arguments of ``Library.search``.

    None where there is none, or where it would not answer as this process does: it is to answer itself then, as it is
    where it was asked to say what it does.

    Raises:
        InvalidInput, NotFound: as ``Library.search``.
    """
    if session.common.verbose or os.environ.get("PINAKES_LOG"):
        return None
    instance = for_commands(session.settings)
    if instance is None:
        if words := of_other_version(session.settings):
            session.screen.warn(words)
        return None
    from http.client import HTTPException

    asked = {"command": session.called, "given": session.arguments, "question": question}
    try:
        status, body = _sent(instance, json.dumps(asked), session.settings.server.search_timeout_s + _GRACE_S)
        if status == 200:
            from pydantic import TypeAdapter

            return TypeAdapter(Results).validate_json(body)
        error = _error(body) if status == 422 else None
    except (OSError, HTTPException, ValueError):  # it is gone, or what is there now is no Pinakes
        return None
    if error is not None:
        raise error
    return None


def _sent(instance: Instance, body: str, timeout_s: float) -> tuple[int, bytes]:
    """Return status and body of the answer.

    Raises:
        OSError, HTTPException, ValueError: none comes in time, or another program than the ``instance`` is there: that
            is not shown the question.
    """
    from http.client import HTTPConnection

    place = urlsplit(instance.url)
    with closing(HTTPConnection(place.hostname or "", place.port, timeout=_CONNECT_TIMEOUT_S)) as connection:
        connection.request("GET", "/healthz")
        with connection.getresponse() as health:
            health.read()
            if health.headers.get(HEADER) != instance.id:
                raise ValueError("another program")
        if connection.sock is None:
            connection.connect()
        connection.sock.settimeout(timeout_s)
        headers = {"Authorization": f"Bearer {instance.key}", "Content-Type": "application/json"}
        connection.request("POST", COMMANDS, body.encode(), headers)
        with connection.getresponse() as answer:
            return answer.status, answer.read()


def _error(body: bytes) -> PinakesError | None:
    """Return what the search raised, None where it is not known to be an error of the question."""
    error = json.loads(body).get("error")
    if not isinstance(error, dict):
        return None
    kind, message, hint = kind_of(error.get("code")), str(error.get("message")), str(error.get("hint"))
    if issubclass(kind, NotFound):
        return kind(message, hint=hint, ids=error.get("not_found", ()))
    return kind(message, hint=hint) if issubclass(kind, InvalidInput) else None
