"""Asking a model that runs elsewhere: JSON is sent, JSON comes back."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from pinakes.errors import ModelUnavailable
from pinakes.types import JSON

if TYPE_CHECKING:
    import httpx

_MOST_BYTES = 4_000_000
_MOST_SHOWN = 200


def is_address(url: str) -> bool:
    """Say whether ``url`` is one that can be asked."""
    try:
        address = urlsplit(url)
        return address.scheme in ("http", "https") and bool(address.hostname) and address.port != 0
    except ValueError:  # brackets without an end, a port that is none
        return False


@dataclass(frozen=True, slots=True)
class Endpoint:
    """The address of a model. ``name`` is what messages call it, ``section`` that of its settings.

    Nothing is kept of the key but the name of the environment variable that holds it, "" = no key. Redirects are not
    followed, so that the key goes nowhere else. ``advice``: what to check when it refuses. ``keyless``: what is raised
    where the variable holds no key.
    """

    name: str
    section: str
    url: str
    key_variable: str
    advice: str
    keyless: type[ModelUnavailable] = ModelUnavailable

    @property
    def shown(self) -> str:
        """The address as it may be shown: without a login and without its query."""
        address = urlsplit(self.url)
        return f"{address.scheme}://{address.netloc.rpartition('@')[2]}{address.path}"

    def headers(self) -> dict[str, str]:
        """Return the headers of a request, with the key where there is to be one.

        Raises:
            ModelUnavailable: the environment variable does not hold a key.
        """
        headers = {"content-type": "application/json", "accept": "application/json"}
        if variable := self.key_variable:
            key = os.environ.get(variable, "").strip()
            if not key or not key.isascii() or not key.isprintable():
                raise self.keyless(
                    f"The environment variable {variable} does not hold a key for the {self.name}.",
                    hint=f"Set it, or name another in {self.section}.key_variable.",
                )
            headers["authorization"] = f"Bearer {key}"
        return headers

    def ask(self, request: JSON, limit_s: float, client: httpx.Client | None = None) -> JSON:
        """Send ``request``, return what comes back; over a connection of ``client`` where one is given.

        Raises:
            TimeoutError: it does not within ``limit_s``.
            ModelUnavailable: it cannot be reached, refuses, or does not answer in JSON.
        """
        import httpx

        body, headers = json.dumps(request).encode(), self.headers()
        until = time.monotonic() + limit_s
        stream = client.stream if client is not None else httpx.stream
        try:
            with stream("POST", self.url, content=body, headers=headers, timeout=limit_s) as response:
                data = _read(response, until)
        except httpx.TimeoutException as error:
            raise TimeoutError from error
        except (httpx.HTTPError, httpx.InvalidURL) as error:
            raise self.failure(f"cannot be reached: {error}", f"Check {self.section}.url and the network.") from error
        if not response.is_success:
            raise self._refusal(response.status_code, data)
        try:
            return json.loads(data)
        except ValueError as error:
            raise self.failure("does not answer in JSON", f"Check {self.section}.url.") from error

    def late(self, limit_s: float) -> ModelUnavailable:
        """Return the error that tells of a ``TimeoutError``."""
        return self.failure(f"does not answer within {limit_s:g} s", f"Check it, or raise {self.section}.timeout_s.")

    def failure(self, what: str, hint: str) -> ModelUnavailable:
        """Return the error that says ``what`` this endpoint does."""
        return ModelUnavailable(f"The {self.name} at {self.shown} {what}.", hint=hint)

    def _refusal(self, status: int, data: bytes) -> ModelUnavailable:
        said = " ".join(data[:_MOST_SHOWN].decode("utf-8", "replace").split())
        hint = self.advice
        if status in (401, 403):
            hint = f"Check the key in the environment variable that {self.section}.key_variable names."
        elif status == 429 or status >= 500:
            hint = "Try again later."
        return self.failure(f"answers {status}: {said}" if said else f"answers {status}", hint)


def _read(response: httpx.Response, until: float) -> bytes:
    """Return the whole answer, were it sent a byte at a time.

    Raises:
        TimeoutError: it goes on for longer than ``until``.
    """
    data = bytearray()
    for part in response.iter_bytes():
        data += part
        if time.monotonic() > until:
            raise TimeoutError
        if len(data) > _MOST_BYTES:
            break
    return bytes(data)
