"""Secrets recognised by their context: a name such as ``password``, a header, a login in an address."""

from __future__ import annotations

import re
from typing import Final

from pinakes.core.regexes import lazy
from pinakes.text.secrets import secret_values
from pinakes.text.secrets.kinds import Rule, Spans

_PASSWORDS = (
    "passw(?:or)?[dt]s?|passwds?|passphrases?|pwds?|[_.\\s\"'{,;-]pass|dbpass|userpass|requirepass|masterauth|psk|"
    f"{secret_values.IN_OTHER_LANGUAGES}"
)
_KEYS = (
    "api|app|application|access|account|admin|auth|client|consumer|encryption|encrypt|hmac|jwt|license|master|private|"
    "secret|secure|service|session|shared|signing|sign|storage|webhook"
)
_TOKENS = (
    f"(?:{_KEYS})(?:[_.-]?access)?[_.-]?keys?|(?:api|access|secret|auth|client|private|storage|account) keys?|"
    "secrets?|secret[_.-]?(?:string|value|base)|tokens?|credentials?|creds|"
    "client-key-data|_auth|authorization|x-[a-z-]{2,20}-key|accountkey|connectionkey"
)
_ENDS = "[_-]?[0-9]{1,2}|[_-](?i:base64|b64|hex|dev|prod|staging|live|key|id_secret)"
_NAME = f"(?P<name>(?i:(?P<password>{_PASSWORDS})|{_TOKENS})(?:{_ENDS})?)"
_ANCHOR_NAME = _NAME.replace("?P<password>", "?:").replace("?P<name>", "?:")

_BETWEEN = (
    r"[\"'`\]*]{0,3}"
    r"(?:"
    r"[ \t]{0,20}(?::=|=>|=|:(?:[ ]?[A-Za-z]{2,12}[ ]?=)?|\||：)[ \t]{0,20}"
    r"|[ ]{1,2}(?i:is|was|ist|lautet|est|es|è|é):?[ ]{1,2}(?::[ ])?"
    r"|是[ ]{0,2}[:：]?[ ]{0,2}"
    r"|[\"']?,?[ \t\r]{0,4}\n?[ \t]{0,40}[\"']?(?i:value|secret)[\"']?[ \t]{0,4}[:=][ \t]{0,4}"
    r"|>"
    r"|\([ ]{0,2}"
    r"|[\"'],[ ]{0,4}"
    r"|(?:[ ](?i:is|was|ist|lautet|est|es|è))?:?[*_]{0,3}[ \t]{0,4}\r?\n(?:[ \t]{0,4}\r?\n)?[ \t>]{0,8}"
    r")"
    r"(?:[*_]{1,3}[ \t]{0,4})?"
)
_BARE = r"(?:[^\s\"'`,;<>(){}\[\]|&]|&(?!&|amp;|[\w.%\[\]-]{1,40}=))"
"""A character of a value without quotation marks. Before a name, "&" parts the values of a form."""
_VALUE = (
    r"[rbfuRBFUL@$]{0,2}(?:\"(?P<double>[^\"\n]{6,64}+)[^\s]|'(?P<single>[^'\n]{6,64}+)[^\s]|"
    r"`(?P<tick>[^`\n]{6,64}+)[^\s])"
    rf"|(?:(?:Bearer |Token |token |Basic )?(?P<bare>{_BARE}{{6,64}}))"
)
_ASSIGNED = lazy(f"{_NAME}{_BETWEEN}(?:{_VALUE})")
_GROUPS = ("double", "single", "tick", "bare")
_HEAD = 64
_REST = {
    "double": lazy(r"[^\s\"]{0,8000}"),
    "single": lazy(r"[^\s']{0,8000}"),
    "tick": lazy(r"[^\s`]{0,8000}"),
    "bare": lazy(r"[^\s\"'`,;<>(){}\[\]|&]{0,8000}"),
}
_OPENING = ("(", "[", "{")
_LONGEST_PASSWORD = 200
_HEADING_CHARS = 50
_BOARDING_CHARS = 12
_IN_HEADING = lazy(r"[#>*_+|\s-]*(?:[\w.-]+ ){0,4}")
_VALUE_NAME = lazy(r"(?i)[\n,][ \t]*[\"']?(?:value|secret)[\"']?[ \t]*[:=]")
_SPACE = lazy(r"\s")
_HEADER = ("Bearer ", "bearer ", "Token ", "token ", "Basic ", "basic ", "SSWS ")


def _assigned(text: str, start: int, _end: int) -> Spans:
    """Yield the value assigned to a name such as ``password``, if it looks like a secret.

    Only the beginning of a long value is examined, so that a text full of such names takes linear time.
    """
    match = _ASSIGNED.match(text, start)
    if match is None or _is_boarding_pass(match):
        return
    group = next(name for name in _GROUPS if match[name] is not None)
    if "\n" in text[match.end("name") : match.start(group)] and not _is_heading(text, start, match.start(group)):
        return
    begin, stop = match.span(group)
    value, password = match[group], match["password"] is not None
    if group == "bare" and (not password or text[start - 1 : start] in ("?", "&")):
        value = value.partition("&")[0]  # in an address "&" separates values
        stop = begin + len(value)
    long = len(value) == _HEAD
    password = password and not long
    for word in _HEADER:
        if value.startswith(word):
            begin, value = begin + len(word), value[len(word) :]
    if group == "bare" and not long:
        ends = ".:*\\" if password else ".:*\\!?"
        value = value.rstrip(ends)
        stop = begin + len(value)
        if text[stop : stop + 1] in _OPENING:
            return
    if _is_secret(value, quoted=group != "bare", password=password):
        rest = _REST[group].match(text, stop) if long else None
        yield begin, rest.end() if rest else stop


def _is_boarding_pass(match: re.Match[str]) -> bool:
    start, name = match.start(), match["name"].lower()
    return name[1:] == "pass" and match.string[max(0, start - _BOARDING_CHARS) : start].lower().rstrip().endswith(
        "boarding"
    )


def _is_heading(text: str, start: int, value: int) -> bool:
    """Return whether a name ends a short line, and the next line consists of a value."""
    if _VALUE_NAME.search(text, start, value):
        return True
    before = text[max(0, start - _HEADING_CHARS) : start].rpartition("\n")[2]
    after = text[value : value + 2 * _HEAD].partition("\n")[0]
    return len(before) < _HEADING_CHARS and _IN_HEADING.fullmatch(before) is not None and " " not in after.strip()


def _is_secret(value: str, *, quoted: bool, password: bool) -> bool:
    if _SPACE.search(value) or (password and len(value) > _LONGEST_PASSWORD):
        return False
    if not password:
        return secret_values.is_token(value, quoted=quoted)
    return secret_values.is_word_with_year(value) or secret_values.is_password(value, quoted=quoted)


def _login(text: str, start: int, _end: int) -> Spans:
    """Yield the password of a login in an address."""
    match = _LOGIN.match(text, start)
    if match is None:
        return
    user, password = match[1], match[2]
    same = user.lower() == password.lower()
    if same or secret_values.is_placeholder(password) or _WORDS.fullmatch(password) or "%s" in password:
        return
    yield match.span(2)


def _header(text: str, start: int, _end: int) -> Spans:
    """Yield the token of an authorization header."""
    match = _HEADERS.match(text, start)
    if match is None:
        return
    value = match[2]
    basic = match[1].lower() == "basic"
    if secret_values.is_login(value) if basic else secret_values.is_token(value, quoted=True):
        yield match.span(2)


def _docker_login(text: str, start: int, _end: int) -> Spans:
    match = _DOCKER.match(text, start)
    if match is not None and secret_values.is_login(match[1]):
        yield match.span(1)


def _given(text: str, start: int, _end: int) -> Spans:
    """Yield a password after a blank in a command or statement."""
    match = _GIVEN.match(text, start)
    if match is None:
        return
    group = match.lastindex or 1
    value, before = match[group], _BEFORE.get(group)
    if before is not None:
        line = text[max(0, start - _BEFORE_CHARS) : start]
        if not before.fullmatch(line if group == _NETRC else line.rpartition("\n")[2]):
            return
    named = re.search("(?i:pass|by|auth|secure)", text[start : match.start(group)]) is not None
    password = named or group >= _LOGIN_OPTION
    if _is_secret(value, quoted=True, password=password):
        yield match.span(group)


_LOGIN_PATTERN = r"://([^\s/:@\"'<>()]{0,64}):([^\s/@\"'<>(){}]{3,128})@"
_LOGIN = lazy(_LOGIN_PATTERN)
_WORDS = lazy(
    r"(?i:p(?:ass)?(?:w(?:or)?d)?|passwd|pw|secret|token|password\d?|[a-z]*pass(?:word)?|\*+|\.+|\$\w+|%\w+%|:?port|"
    r"test|admin|root|postgres|guest|user|[0-9]{1,5})"
)
_HEADERS_PATTERN = r"((?i:bearer|basic|token))[ ]{1,4}([A-Za-z0-9_.~+/=-]{16,1000})"
_HEADERS = lazy(_HEADERS_PATTERN)
_DOCKER_PATTERN = r"[^A-Za-z0-9_]auth\"?[ ]{0,2}:[ ]{0,2}\"?([A-Za-z0-9+/=]{8,1000})"
_DOCKER = lazy(_DOCKER_PATTERN)
_NETRC = 4
_LOGIN_OPTION = 6
_JOINED_OPTION = 7
_OPTIONS = "password|passwd|pass|token|secret|api-key|apikey|auth-key|access-key"
_GIVEN_PATTERN = (
    rf"(?:-(?:{_OPTIONS})[ ]{{1,2}}[\"']?([^\s\"'-][^\s\"']{{5,1000}})"
    r"|(?:PASSWORD|PASSWD|_PASS|TOKEN|SECRET|_KEY)[ ]{1,4}[\"']?([^\s\"'=:|][^\s\"'=]{5,1000})"
    r"|(?i:by|password)[ ]{1,2}'([^'\n]{6,200})'"
    r"|[ \t\n]password[ \t]{1,4}([^\s]{6,200})"
    r"|(?i:requirepass|masterauth|sshpass -p|convertto-securestring)[ ]{0,2}[\"']?([^\s\"']{6,200})"
    r"|[ ](?:-u|--user)[ =][\"']?[A-Za-z0-9_.@-]{1,60}:([^\s\"':/]{6,200})"
    r"|[ ]-p([^\s\"'=:/-][^\s\"':/]{6,200}))"
)
_GIVEN = lazy(_GIVEN_PATTERN)
_GIVEN_ANCHOR = re.sub(r"\{(?:5,1000|6,200)\}(\))?'?", r"\1", _GIVEN_PATTERN)
_BEFORE = {
    2: lazy(r"[ \t]*(?:ENV|ARG|setx|export|set|SetEnv|SET)[ \t]+(?:-[gx]+[ \t]+)?[A-Za-z0-9_]{0,60}"),
    _JOINED_OPTION: lazy(r".*\b(?:mysql|mariadb)(?:-?[a-z]{1,12})?[ ][^|;&]*"),
    4: lazy(r"(?:.*[ \t])?(?:login|user)[ \t]+\S{1,100}[ \t]*", re.DOTALL),
}
"""Required context before a value in its line, by number of the group, to distinguish a setting from prose."""
_BEFORE_CHARS = 160

_HEADERS_ANCHOR = _HEADERS_PATTERN.replace("{16,1000}", "{16}")
_ASSIGNED_ANCHOR = f"{_ANCHOR_NAME}{_BETWEEN}[rbfuRBFUL@$]{{0,2}}[\"'`]?" + r"[^\s\"'`,;<>(){}\[\]|]{6}"

NAMED: Final = (
    Rule("a password in an address", _LOGIN_PATTERN, spans=_login, inside=True),
    Rule("login data in base64", _DOCKER_PATTERN, spans=_docker_login, inside=True),
    Rule("a token in a header", _HEADERS_PATTERN, spans=_header, inside=True, anchor=_HEADERS_ANCHOR),
    Rule("a password of a command", _GIVEN_PATTERN, spans=_given, inside=True, anchor=_GIVEN_ANCHOR),
    Rule("a password or token", "", spans=_assigned, inside=True, anchor=_ASSIGNED_ANCHOR),
)
