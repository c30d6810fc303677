"""Classification of values as secrets, or as placeholders, names and words of prose and code."""

from __future__ import annotations

import base64
import binascii
import json
import math
import re
from collections import Counter
from typing import Final

from pinakes.core.regexes import lazy

IN_OTHER_LANGUAGES: Final = (
    "kennw(?:o|ö)rt(?:er)?|passw(?:o|ö)rt(?:er)?|mot de passe|contrase(?:n|ñ)a|senha|wachtwoord|has(?:l|ł)o|"
    "parola d(?:'|’)ordine|parol(?:a|ă)|l(?:o|ö)senord|adgangskode|heslo|salasana|jelsz(?:o|ó)|(?:П|п)ароль|"
    "(?:Ş|ş)ifre|m(?:a|ậ)t kh(?:a|ẩ)u|(?:Κ|κ)ωδικός|पासवर्ड|密码|密碼|パスワード|비밀번호|סיסמה|كلمة المرور"
)
"""Words for a password. Letters beyond ASCII are alternatives, not classes: anchors are searched in bytes of UTF-8."""

MASK: Final = "\u2588"
"""Replaces each masked code point. It is neither letter nor punctuation: a run of it is one token, and not a word."""

_PLACEHOLDER: Final = lazy(
    rf"{MASK}|\*{{3}}|\.{{3}}|…|<|\$\{{|\$\(|\{{\{{|%\(|%[sdv]\b|@@|"
    r"example|placeholder|change[-_ ]?(?:me|it|this)|change[-_]?in|replace[-_ ]?|your|x{4}|dummy|redacted|"
    r"insert[-_ ]|enter[-_ ]|fake|foo[-_]?bar|not[-_]?(?:a|real)[-_]|to[-_]?do|here\b|"
    r"0{8}|1{8}|a{6}",
    re.IGNORECASE,
)
_EXAMPLE: Final = lazy(rf"{MASK}|example|placeholder|your|x{{5}}|\.{{3}}|…|redacted|0{{12}}|1{{12}}", re.IGNORECASE)
_COMMON: Final = lazy(
    r"(?:my|the|db|some|super|very|new|old|top)?[-_]?"
    r"(?:passw(?:or|0r)?d|passwd|pass|pwd|p@ssw(?:or|0r)d|secret|s3cr3t|token|api[-_]?key|key|admin|administrator|root|"
    r"test(?:ing)?|tester|demo|sample|user(?:name)?|guest|hello|welcome|qwerty|letmein|default|string|value|abc|foo|bar|"
    r"monkey|dragon)",
    re.IGNORECASE,
)
_CODE: Final = lazy(
    r"(?:os|process|self|this|cls|ctx|config|cfg|settings|env|req(?:uest)?|res|data|params?|options?|args?|secrets?|vars?|"
    r"local|var|each|module|input|github|steps|inputs|matrix|node|facter|ansible|vault)[.\[]|"
    r"[A-Za-z_]\w*(?:(?:\.|->|::)[A-Za-z_]\w*)+(?:[\[(].*)?|/|\./|~/|[A-Za-z]:\\|\w+://|@[\w.]+|[-+]{2}|\$\w+|%\w+%|0x[0-9A-Fa-f]+$|"
    r"#|LS0tLS1CRUdJT|[&*]\w|(?:sha\d+|md5)[:-]",
    re.IGNORECASE,
)
_NUMBERED: Final = frozenset(
    "abbildung abschnitt android anhang appendix argon article artikel bcrypt chapitre chapter column debian exercise "
    "figure flight gate kapitel length level line maximum minimum number nvarchar page paragraph python question row "
    "scrypt seat section seite sha step string tabelle table ubuntu unicode utf varchar version volume windows "
    "zeile".split()
)
"""Words that a number often follows: ``Chapter12``, ``Varchar50``, ``Windows11``."""
_UUID: Final = lazy(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_RUN: Final = lazy(r"[A-Za-z0-9+/=]+")
_DATE: Final = lazy(r"v?\d+(?:[.:/_-]\d+)*(?:[A-Za-z]{1,6}\d*)?")
_WORD: Final = lazy(r"[A-Z]?[a-z]+[0-9]*|[A-Z]+[0-9]*|[0-9]+")
_KIND: Final = str.maketrans(
    {
        char: "d" if chr(char).isdigit() else "u" if chr(char).isupper() else "l" if chr(char).isalpha() else "s"
        for char in range(128)
    }
)
_DIGIT: Final = lazy(r"[0-9]")
_NOT_ASCII: Final = lazy(r"[^\x00-\x7f]")
_SAME_KIND: Final = lazy(r"d+|u+|l+|s+")
_TOKEN_RUN: Final = 20
_SHORTEST: Final = 8
_MOST_TURNS: Final = 5
"""Names of code with a number turn less often between capitals, small letters and digits: ``OAuth2Pwd``."""
_SHORTEST_TOKEN: Final = 12
_HEX: Final = lazy(r"[0-9a-f]{,19}")
"""Length up to which a hexadecimal value is rather the short id of a commit or container."""


def is_placeholder(value: str) -> bool:
    """Return whether a value is a placeholder for a secret: ``<password>``, ``${TOKEN}``, ``changeme``, ``xxxx``."""
    return _PLACEHOLDER.search(value) is not None


def is_example(value: str) -> bool:
    """Return whether a token of a known form is an example for documentation, or masked."""
    return len(set(value[-12:])) < 4 or _EXAMPLE.search(value) is not None


def entropy(value: str) -> float:
    """Return the entropy of ``value`` in bits per character."""
    total = len(value)
    return -sum(n / total * math.log2(n / total) for n in Counter(value).values()) if total else 0.0


def is_password(value: str, *, quoted: bool) -> bool:
    """Return whether the value of a password looks chosen by a person or generated."""
    if len(value) < _SHORTEST or not _DIGIT.search(value) or len(set(value)) < 5:
        return False
    if _is_harmless(value, quoted=quoted):
        return False
    if (inner := _text_in_base64(value)) is not None:
        return is_password(inner, quoted=True)
    if _is_common(value):
        return False
    longest = max((len(run) for run in re.findall(r"[A-Za-z0-9]+", value)), default=0)
    kinds = _kinds(value)
    if not {"d"} <= kinds or not kinds & {"l", "u"}:
        return False
    if re.fullmatch(r"[\w.#/-]+", value) and (not quoted or re.fullmatch(r"[a-z0-9._-]+", value)):
        segment = max(re.findall(r"[A-Za-z0-9]+", value), key=len)
        if longest > _SHORTEST + 1 - quoted:
            return _turns(segment) >= 3 and "d" in _kinds(segment) and not _HEX.fullmatch(value)
        if kinds == {"d", "l", "u"} and _turns(value) >= _MOST_TURNS:  # Xk9mPq2Lz
            return True
        if "#" in value and len(kinds) == 4 and _turns(value) >= len(value) // 2:
            return True
        odd = sum(not _WORD.fullmatch(part) for part in re.findall(r"[A-Za-z0-9]+", value))
        return (
            len(value) >= _SHORTEST_TOKEN and {"d", "l", "u"} <= kinds and odd >= 1 and _turns(value) >= len(value) // 3
        )
    return len(kinds) >= 3 or _turns(value) >= 3


def is_word_with_year(value: str) -> bool:
    """Return whether a value is a capitalised word with two to four digits, as people choose passwords: Sommer2024."""
    word = value.rstrip("0123456789")
    if not (word.isalpha() and word.istitle() and len(value) >= _SHORTEST and 2 <= len(value) - len(word) <= 4):
        return False
    return word.lower() not in _NUMBERED and not is_placeholder(value) and not _is_common(value)


def is_token(value: str, *, quoted: bool) -> bool:
    """Return whether the value of a token, key or secret looks generated."""
    if (
        len(value) < _SHORTEST_TOKEN
        or not _DIGIT.search(value)
        or _is_harmless(value, quoted=quoted)
        or _UUID.fullmatch(value)
    ):
        return False
    if (inner := _text_in_base64(value)) is not None:
        return is_token(inner, quoted=True)
    if any(len(run) >= _TOKEN_RUN and is_random(run) for run in _RUN.findall(value)):
        return True
    mixed = _turns(value) >= len(value) // 4 and {"d", "l", "u"} <= _kinds(value)
    return mixed and is_password(value, quoted=False)


def is_random(run: str) -> bool:
    """Return whether letters and digits are mixed as in generated values, not as in words with numbers."""
    kinds = _kind_of_each(run)
    digits, letters = kinds.count("d"), kinds.count("l") + kinds.count("u")
    if digits < 2 or letters < 2 or entropy(run) < 3.0:
        return False
    return _turns(run) >= len(run) // 5


def is_json_token(value: str) -> bool:
    """Return whether the first part of a JSON web token is a header that names an algorithm."""
    try:
        header = json.loads(_decoded(value.partition(".")[0]))
    except (ValueError, RecursionError):
        return False
    return isinstance(header, dict) and ("alg" in header or "enc" in header)


def is_login(value: str) -> bool:
    """Return whether base64 text decodes to ``user:password``."""
    try:
        user, colon, password = _decoded(value).decode().partition(":")
    except ValueError:
        return False
    usable = bool(colon and user and password and (user + password).isprintable())
    return usable and not is_placeholder(password) and not _is_common(password)


def is_user_number(value: str) -> bool:
    """Return whether base64 text decodes to digits only, as in the first part of a bot's token."""
    try:
        return _decoded(value).isdigit()
    except ValueError:
        return False


def plain_base64(value: str) -> str:
    """Return the decoded text of base64 ``value``, as far as it is valid; "" if it is not."""
    try:
        return _decoded(value[: len(value) // 4 * 4]).decode("latin-1")
    except ValueError:
        return ""


def _text_in_base64(value: str) -> str | None:
    """Return the decoded text of a base64 value in a manifest, None if there is none."""
    if len(value) < _SHORTEST or len(value) % 4 or not _RUN.fullmatch(value):
        return None
    try:
        inner = _decoded(value).decode()
    except ValueError:
        return None
    return inner if inner.strip().isprintable() and len(inner) >= 6 else None


def _decoded(value: str) -> bytes:
    plain = value.rstrip("=").replace("-", "+").replace("_", "/")
    try:
        return base64.b64decode(plain + "=" * (-len(plain) % 4), validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error


def _is_harmless(value: str, *, quoted: bool) -> bool:
    inner = _text_in_base64(value)
    if inner is not None and (" " in inner.strip() or inner.strip().isalpha() or not inner.isascii()):
        return True
    if is_placeholder(value) or _DATE.fullmatch(value) or (len(value) > 40 and " " in value):
        return True
    return _CODE.match(value) is not None and (not quoted or not is_random(value[:80]) or "://" in value)


def _is_common(value: str) -> bool:
    """Return whether a value is a word for "password" with a short suffix."""
    word = _COMMON.match(value)
    return word is not None and len(value) - word.end() < _SHORTEST - 2


def _kinds(value: str) -> set[str]:
    """Return the kinds of the characters: digits "d", capitals "u", other letters "l", signs "s"."""
    return set(_kind_of_each(value))


def _kind_of_each(value: str) -> str:
    return _NOT_ASCII.sub("l", value.translate(_KIND))


def _turns(value: str) -> int:
    """Return the number of changes of the kind of character; a capital at the start of a word is not a change."""
    kinds = _kind_of_each(value)
    return len(_SAME_KIND.findall(kinds)) - 1 - kinds.count("ul")
