"""A server as a side of a comparison, asked over HTTP: Pinakes, or any that answers with JSON."""

from __future__ import annotations

import re
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING
from urllib.parse import urlsplit, urlunsplit

from pinakes.core.errors import InvalidInput, ServerUnreachable
from pinakes.core.filters import normal_text
from pinakes.core.loopback import is_loopback
from pinakes.core.records import JSON, Condition, Filter
from pinakes.evaluation.questions import Question
from pinakes.evaluation.systems import Named, SystemInfo, SystemReply

if TYPE_CHECKING:
    import httpx

ROUTE = "/search"
_NOT_READY, _AGAIN_S = 503, 0.1
_MOST_SHOWN = 200
_HEADER = re.compile(r"\s*(?P<name>[\w!#$%&'*+.^`|~-]+):\s*(?P<value>[!-~](?:[ -~]*[!-~])?)\s*", re.ASCII)


@dataclass(frozen=True, slots=True)
class Fields:
    """The field names of a server; dots lead into objects, "" = no such field.

    ``query``, ``top_k``, ``mode``, ``filters``, ``collection`` are asked for; ``results`` is the list in the answer
    ("." where the answer is that list), ``degraded`` a word of warning there, the others are in each result.
    """

    query: str = "query"
    top_k: str = "top_k"
    mode: str = "search_type"
    filters: str = "filters"
    collection: str = "collection"
    results: str = "results"
    degraded: str = "degraded"
    id: str = ""
    uri: str = ""
    path: str = "metadata.file_path"
    key: str = "kep_id"
    score: str = "score"

    @classmethod
    def from_words(cls, words: Iterable[str], by: str | None = None) -> Fields:
        """Return the fields of ``name=theirs`` words; ``by``: the metadata that documents are compared by.

        Raises:
            InvalidInput: a word of another form.
        """
        known = [one.name for one in fields(cls)]
        given: dict[str, str] = {"key": f"metadata.{by}"} if by else {}
        for word in words:
            name, sign, theirs = word.partition("=")
            if not sign or name.strip() not in known:
                raise InvalidInput(
                    f"--map {word!r} is not of the form NAME=THEIRS.", hint=f"NAME is one of {', '.join(known)}."
                )
            given[name.strip()] = theirs.strip()
        return cls(**given)


class ServerSystem:
    """A server, asked for ``top_k`` chunks; ``mode`` None: as it does by itself.

    The address may name a route (else ``/search``), and after ``#`` a collection.
    """

    def __init__(
        self,
        label: str,
        fields: Fields,
        *,
        mode: str | None,
        top_k: int,
        timeout_s: float,
        headers: Mapping[str, str] | None = None,
    ) -> None:
        """Check the address without a request. ``headers`` are sent with every question.

        Raises:
            InvalidInput: it is no address of a server.
        """
        import httpx

        self._url, self._collection = _address(label)
        self._shown = urlunsplit(urlsplit(self._url)._replace(netloc=urlsplit(self._url).netloc.rpartition("@")[2]))
        self._fields, self._mode, self._top_k, self._timeout_s = fields, mode, top_k, timeout_s
        self._client = httpx.Client(
            timeout=timeout_s,
            headers=headers,
            trust_env=not is_loopback(urlsplit(self._url).hostname or ""),  # no proxy to this machine
        )
        collection = f"#{self._collection}" if self._collection else ""
        self.about = SystemInfo(self._shown.removesuffix(ROUTE) + collection, "server", mode or "", top_k)

    def ask(self, question: Question) -> SystemReply:
        """Return the documents of the chunks in its answer; a server that is starting (503) is asked again.

        Raises:
            ServerUnreachable: it does not answer, refuses, or answers in another form.
        """
        import httpx

        until = time.monotonic() + self._timeout_s
        try:
            while True:
                start = time.perf_counter()
                response = self._client.post(self._url, json=self._request(question))
                passed = (time.perf_counter() - start) * 1000
                if response.status_code != _NOT_READY or time.monotonic() > until:
                    return self._read(response, passed)
                time.sleep(_AGAIN_S)
        except httpx.TimeoutException as error:
            hint = "Is it busy? --timeout SECONDS waits longer."
            raise self._trouble(f"does not answer within {self._timeout_s:g} s", hint) from error
        except httpx.HTTPError as error:
            hint = "Start it, or check the address."
            raise self._trouble(f"does not answer ({type(error).__name__}: {error})", hint) from error

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def _request(self, question: Question) -> dict[str, JSON]:
        names = self._fields
        wanted = {
            names.query: question.text,
            names.top_k: self._top_k,
            names.mode: self._mode,
            names.filters: spelled(question.where) or None,
            names.collection: self._collection or None,
        }
        if question.where and not names.filters:
            raise self._trouble("cannot be asked with filters", "Give --map filters=NAME, or take questions without.")
        body: dict[str, JSON] = {}
        for name, value in wanted.items():
            if name and value is not None:
                *parents, last = name.split(".")
                place = body
                for parent in parents:
                    place = place.setdefault(parent, {})
                place[last] = value
        return body

    def _read(self, response: httpx.Response, passed: float) -> SystemReply:
        try:
            answer = response.json()
        except ValueError:
            answer = None
        if not response.is_success:
            detail = answer.get("detail", "") if isinstance(answer, dict) else ""
            words = f"answers with HTTP {response.status_code}" + (f": {detail}"[:_MOST_SHOWN] if detail else "")
            raise self._trouble(words, "Check address, collection, --depth and --map.")
        names = self._fields
        results = answer if names.results == "." else _value(answer, names.results)
        if not isinstance(results, list):
            raise self._trouble(f"answers without a list {names.results!r}", "Name it with --map results=THEIRS.")
        best: dict[Named, float | None] = {}
        for result in results:
            best.setdefault(self._named(result), _score(_value(result, names.score)))
        if Named() in best:
            raise self._trouble(
                "answers with results that name no document",
                "Say what it calls them: --map path=THEIRS, or key, uri, id.",
            )
        scores = tuple(score for score in best.values() if score is not None)
        degraded = _value(answer, names.degraded)
        return SystemReply(
            tuple(best), scores if len(scores) == len(best) else (), passed, str(degraded) if degraded else None
        )

    def _named(self, result: JSON) -> Named:
        names = self._fields
        key = _text(_value(result, names.key))
        as_field = names.key.startswith("metadata.")
        return Named(
            _text(_value(result, names.id)),
            _text(_value(result, names.uri)),
            _text(_value(result, names.path)),
            normal_text(key) if as_field else key,
        )

    def _trouble(self, what: str, hint: str) -> ServerUnreachable:
        return ServerUnreachable(f"{self._shown} {what}.", hint=hint)


def headers_of(words: Iterable[str]) -> dict[str, str]:
    """Return the HTTP headers for words of the form ``Name: value``.

    Raises:
        InvalidInput: a word of another form; the message does not show it, since it may hold a key.
    """
    found = [_HEADER.fullmatch(word) for word in words]
    for number, match in enumerate(found, start=1):
        if match is None:
            raise InvalidInput(
                f"--header {number} of {len(found)} is not of the form NAME: VALUE.",
                hint="As in --header 'Authorization: Bearer KEY'",
            )
    return {match["name"]: match["value"] for match in found if match is not None}


def spelled(where: Filter) -> dict[str, JSON]:
    """Return a filter in the form that ``POST /search`` takes, which ``filters.parse`` reads back."""
    found: dict[str, dict[str, JSON]] = {}
    for condition in where:
        found.setdefault(condition.field, {}).update(_operators(condition))
    return dict(found)


def _operators(condition: Condition) -> Mapping[str, JSON]:
    if condition.any_of:
        return {"any": list(condition.any_of)}
    if condition.none_of:
        return {"ne": list(condition.none_of)}
    if condition.glob:
        return {"glob": list(condition.glob)}
    bounds = {
        "gt" if condition.low_open else "gte": condition.low,
        "lt" if condition.high_open else "lte": condition.high,
    }
    return {sign: bound for sign, bound in bounds.items() if bound is not None}


def _address(label: str) -> tuple[str, str]:
    try:
        parts = urlsplit(label)
        host, _ = parts.hostname, parts.port
    except ValueError:
        host = None
    if not host or parts.scheme not in ("http", "https"):
        raise InvalidInput(f"{label!r} is no address of a server.", hint="As in http://127.0.0.1:8000")
    path = parts.path.rstrip("/") or ROUTE
    return urlunsplit((parts.scheme, parts.netloc, path, parts.query, "")), parts.fragment


def _value(value: JSON, path: str) -> JSON:
    """Return the value at ``path``, None if there is none."""
    if not path:
        return None
    for name in path.split("."):
        value = value.get(name) if isinstance(value, dict) else None
    return value


def _text(value: JSON) -> str:
    return "" if value is None or isinstance(value, (dict, list)) else str(value)


def _score(value: JSON) -> float | None:
    return float(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else None
