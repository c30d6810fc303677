"""A single post to a webhook: its form, signature and outcome."""

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
    """The outcome of a post: ``error`` is the reason of a failure, else "".

    ``counts``: the receiver caused the failure, so that a post that keeps failing is finally dropped. Failures caused
    by this side's configuration (address or secret) do not count: the post waits until they are fixed.
    """

    status: int = 0
    error: str = ""
    counts: bool = True


def check(hooks: Sequence[WebhookSettings]) -> None:
    """Check the configuration of webhooks; nothing is sent.

    Raises:
        InvalidSetting: two have the same name, or an address is invalid.
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


def post(client: Client, hook: WebhookSettings, events: Sequence[Mapping[str, JSON]], delivery: str) -> Outcome:
    """Post events to the address of ``hook``; ``delivery`` stays the same when they are sent again.

    Redirects are not followed, since the signature is meant for this address only.
    """
    try:
        headers, body = signed(hook, events, delivery)
    except InvalidSetting as error:
        return Outcome(error=error.message, counts=False)
    try:
        answer = client.post(
            hook.url, content=body, headers=headers, max_bytes=_MOST_ANSWERED, timeout_s=hook.timeout_s
        )
    except (Refused, InvalidInput) as error:
        return Outcome(error=_without(hook, str(error)), counts=False)
    except PinakesError as error:
        return Outcome(error=_without(hook, error.message))
    if 200 <= answer.status < 300:
        return Outcome(answer.status)
    if 300 <= answer.status < 400:
        return Outcome(answer.status, f"answers {answer.status}: redirects are not followed")
    text = " ".join(answer.body[:_MOST_SHOWN].decode("utf-8", "replace").split())
    return Outcome(answer.status, f"answers {answer.status}{f': {text}' if text else ''}")


def address(hook: WebhookSettings) -> str:
    """Return the address for messages: only its host, since the path may contain a secret."""
    parts = urlsplit(hook.url)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}/…"


def _without(hook: WebhookSettings, words: str) -> str:
    """Return ``words`` without the path of the address."""
    path = urlsplit(hook.url).path
    return words.replace(path, "/…") if len(path) > 1 else words


def signed(hook: WebhookSettings, events: Sequence[Mapping[str, JSON]], delivery: str) -> tuple[dict[str, str], bytes]:
    """Return the headers and body of a post.

    Raises:
        InvalidSetting: the environment variable of the secret is empty.
    """
    now = time.time()
    sent_at = datetime.fromtimestamp(now, UTC).isoformat(timespec="milliseconds")
    document = {"webhook": hook.name, "delivery": delivery, "sent_at": sent_at, "events": list(events)}
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
    """Return the HMAC-SHA256 of ``stamp.body`` as hexadecimal digits."""
    return hmac.new(secret.encode(), stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
