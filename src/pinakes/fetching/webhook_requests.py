"""One post to an address that wants to be told of events: its form, its signature, and how it went."""

from __future__ import annotations

import hashlib
import hmac
import json
import os
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

from pinakes.core.errors import InvalidInput, InvalidSetting, PinakesError, Refused
from pinakes.core.records import JSON
from pinakes.fetching import check_url
from pinakes.settings import WebhookSettings

if TYPE_CHECKING:
    from pinakes.fetching.client import Client

DELIVERY_HEADER: Final = "X-Pinakes-Delivery"
TIMESTAMP_HEADER: Final = "X-Pinakes-Timestamp"
SIGNATURE_HEADER: Final = "X-Pinakes-Signature"

_MOST_ANSWERED = 65_536
_MOST_SHOWN = 120


@dataclass(frozen=True, slots=True)
class Outcome:
    """How a post went: ``error`` says what went wrong, "" where nothing did.

    ``counts``: it was the other side's doing, so that a post that fails so again and again is given up some day. What
    is wrong here, with an address or a secret, is waited for until somebody mends it.
    """

    status: int = 0
    error: str = ""
    counts: bool = True


def check(hooks: Sequence[WebhookSettings]) -> None:
    """Make sure that these can be told of anything; nothing is sent.

    Raises:
        InvalidSetting: two have one name, or an address cannot be one.
    """
    names = [hook.name for hook in hooks]
    for name in names:
        if names.count(name) > 1:
            raise InvalidSetting(f"Two webhooks are called {name!r}.", hint="Give each a name of its own.")
    for hook in hooks:
        try:
            check_url(hook.url)
        except InvalidInput as error:
            raise InvalidSetting(
                f"The webhook {hook.name!r} has no address that can be used.", hint=error.hint
            ) from error


def post(client: Client, hook: WebhookSettings, told: Sequence[Mapping[str, JSON]], delivery: str) -> Outcome:
    """Send events to the address of ``hook``; ``delivery`` is the same however often they are sent.

    Redirects are not followed: what is signed for one address is for no other.
    """
    try:
        headers, body = signed(hook, told, delivery)
    except InvalidSetting as error:
        return Outcome(error=error.message, counts=False)
    try:
        answer = client.send(
            "POST", hook.url, content=body, headers=headers, max_bytes=_MOST_ANSWERED, timeout_s=hook.timeout_s
        )
    except (Refused, InvalidInput) as error:
        return Outcome(error=_without(hook, str(error)), counts=False)
    except PinakesError as error:
        return Outcome(error=_without(hook, error.message))
    if 200 <= answer.status < 300:
        return Outcome(answer.status)
    if 300 <= answer.status < 400:
        return Outcome(answer.status, f"answers {answer.status}: redirects are not followed")
    said = " ".join(answer.body[:_MOST_SHOWN].decode("utf-8", "replace").split())
    return Outcome(answer.status, f"answers {answer.status}{f': {said}' if said else ''}")


def address(hook: WebhookSettings) -> str:
    """Return the address as it may be shown: its host alone, since the rest of it may be what keeps others out."""
    parts = urlsplit(hook.url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/…"


def _without(hook: WebhookSettings, words: str) -> str:
    """Return ``words`` without the path of the address."""
    path = urlsplit(hook.url).path
    return words.replace(path, "/…") if len(path) > 1 else words


def signed(hook: WebhookSettings, told: Sequence[Mapping[str, JSON]], delivery: str) -> tuple[dict[str, str], bytes]:
    """Return headers and body of a post.

    Raises:
        InvalidSetting: the environment variable that is to hold the secret does not.
    """
    now = time.time()
    sent_at = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
    document = {"webhook": hook.name, "delivery": delivery, "sent_at": sent_at, "events": list(told)}
    body = json.dumps(document, ensure_ascii=False).encode("utf-8", "replace")
    stamp = str(int(now))
    headers = {"Content-Type": "application/json", DELIVERY_HEADER: delivery, TIMESTAMP_HEADER: stamp}
    if variable := hook.secret_variable:
        secret = os.environ.get(variable, "")
        if not secret:
            raise InvalidSetting(
                f"The environment variable {variable} does not hold the secret of the webhook {hook.name!r}.",
                hint="Set it where the server is started.",
            )
        headers[SIGNATURE_HEADER] = f"v1={signature(secret, stamp, body)}"
    return headers, body


def signature(secret: str, stamp: str, body: bytes) -> str:
    """Return the HMAC-SHA256 of ``stamp.body``, in hexadecimal digits."""
    return hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
