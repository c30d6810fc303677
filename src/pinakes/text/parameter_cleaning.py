"""The form of call parameters in the audit log: short, and without secrets."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pinakes.core.records import JSON
from pinakes.text.secrets import Detector

_HIDDEN = "***"
_SIZES = ((200, 20), (60, 5), (20, 2))
_MOST_CHARS = 4000
"""Maximum length of a text or list that is stored in full; less for many parameters, to limit their total."""

_DEPTH = 6
_MARGIN = 400
"""Extra characters to scan for secrets after the cut, so that no part of a secret is stored."""

_SHORTEST_SECRET = 6

_KEYS = "(?:access|api|auth|private|secret)[_.-]?key"
_WORDS = f"authorization|cookie|credential|passphrase|passwd|password|pwd|secret|{_KEYS}"
_TOKENS = "(?:^|access_?|api_?|auth_?|bearer_?|id_?|refresh_?|session_?)tokens"  # others are counted
_SECRET_NAME = re.compile(rf"(?:(?:{_WORDS})s?|token|{_TOKENS})$")
_SECRET = re.compile(
    r"\b(?:Bearer|Basic|Token)\s+(?=\S*\d)[\w.~+/=-]{16,}"  # as in a header
    r"|\beyJ[\w-]{8,}\.[\w-]{8,}(?:\.[\w-]*)?"  # JSON web tokens
    r"|\b(?:sk|pk|rk|ghp|gho|ghs|github_pat|glpat|hf|xox[abps]|pnk)[-_][\w-]{16,}"
    r"|\bAIza[\w-]{30,}|\bAKIA[0-9A-Z]{16}\b"
    r"|-----BEGIN [A-Z ]*PRIVATE KEY-----.*",
    re.DOTALL,
)
"""Secrets in addition to the table of credentials: in a log, false positives are better than misses."""

_PASSWORD_WORDS = "passphrase|passwd|password|passwort|kennwort|pwd"  # noqa: S105 - what they are called
_CREDENTIAL_WORDS = f"credential|secret|token|{_KEYS}|secret_access_key"
_ASKED = re.compile(
    rf"((?:{_PASSWORD_WORDS}|{_CREDENTIAL_WORDS})[\"']?\s*=\s*)(?:\"[^\"]{{4,}}\"|'[^']{{4,}}'|(?:[^\s\"',;&]|&(?![\w.-]+=)){{4,}})"
    rf"|((?:{_PASSWORD_WORDS})(?::\s*|\s+|\s+is\s+))(?=\S*\d)(?=\S*[a-z])[^\s\"',;]{{6,}}"
    rf"|((?:{_CREDENTIAL_WORDS})(?::\s*|\s+|\s+is\s+))"
    r"(?:[0-9a-f]{32,}|(?=\S*\d)(?-i:(?=\S*[A-Z]))(?-i:(?=\S*[a-z]))[^\s\"',;]{12,})",
    re.IGNORECASE,
)
"""A secret after its name, as people write it in questions."""

_DETECTOR = Detector()
_LOGIN = re.compile(r"(\w+://)[^\s/@]+@")
_IN_ADDRESS = re.compile(rf"([?&#](?:sig|[\w.%-]*(?:{_WORDS}|key|signature|token)s?)=)[^\s&#\"']+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class ParameterCleaner:
    """Recognises secrets: parameters with certain names, values that look like keys, and the configured keys."""

    secrets: Sequence[str] = ()

    @classmethod
    def from_settings(cls, sections: Iterable[tuple[str, object]]) -> ParameterCleaner:
        """Return a cleaner that knows the keys in the environment variables of (name, section) in the settings."""
        named = (getattr(section, "key_variable", "") for _, section in sections)
        values = (os.environ.get(name, "") for name in named if name)
        return cls(tuple(value for value in values if len(value) >= _SHORTEST_SECRET))

    def parameters(self, given: Mapping[str, JSON]) -> dict[str, JSON]:
        """Return parameters for the log; omitted parts of long ones are counted."""
        short: JSON = {}
        for chars, items in _SIZES:
            short = self._short(given, chars, items, _DEPTH)
            if _length(short) <= _MOST_CHARS:
                return dict(short)
        return {"…": f"{_length(short)} characters"}

    def text(self, text: str, most: int) -> str:
        """Return ``text`` without secrets, of a longer one the first ``most`` characters and how many there were."""
        if not text:
            return ""
        head = text[: most + _MARGIN]
        for secret in self.secrets:
            head = head.replace(secret, _HIDDEN)
        for found in reversed(_DETECTOR.find(head)):
            head = head[: found.start] + _HIDDEN + head[found.end :]
        head = _ASKED.sub(lambda found: f"{found[1] or found[2] or found[3]}{_HIDDEN}", head)
        head = _LOGIN.sub(rf"\1{_HIDDEN}@", _IN_ADDRESS.sub(rf"\1{_HIDDEN}", _SECRET.sub(_HIDDEN, head)))
        return head if len(text) <= most else f"{head[:most]}… ({len(text)} characters)"

    def _short(self, value: JSON, chars: int, items: int, depth: int) -> JSON:
        if value is None or isinstance(value, (bool, int)):
            return value
        if isinstance(value, float):
            return value if abs(value) < float("inf") else str(value)
        if not isinstance(value, (Mapping, list, tuple, set, frozenset)):
            return self._written(str(value), chars, items, depth)
        more = len(value) - items
        if not depth:
            return f"… ({len(value)} values)"
        if isinstance(value, Mapping):
            some = list(value.items())[:items]
            short = {self.text(str(name), chars): self._named(name, inner, chars, items, depth) for name, inner in some}
            return {**short, "…": f"{more} more"} if more > 0 else short
        listed = [self._short(inner, chars, items, depth - 1) for inner in list(value)[:items]]
        return [*listed, f"… ({more} more)"] if more > 0 else listed

    def _written(self, text: str, chars: int, items: int, depth: int) -> JSON:
        """Return a shortened text; a text with a JSON object or list, which some clients send, is parsed first."""
        if text.lstrip()[:1] in ("{", "["):
            with suppress(ValueError, RecursionError):
                return self._short(json.loads(text), chars, items, depth)
        return self.text(text, chars)

    def _named(self, name: object, value: JSON, chars: int, items: int, depth: int) -> JSON:
        if value and _SECRET_NAME.search(str(name).lower().replace("-", "_")):
            return _HIDDEN
        return self._short(value, chars, items, depth - 1)


def _length(value: JSON) -> int:
    """Return the approximate number of characters of ``value`` as JSON."""
    if isinstance(value, dict):
        return sum(len(name) + 6 + _length(inner) for name, inner in value.items())
    if isinstance(value, list):
        return sum(2 + _length(inner) for inner in value)
    return len(value) + 2 if isinstance(value, str) else 8
