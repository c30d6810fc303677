"""Values that callers send to break things, each written as JSON, and bodies of requests made of them."""

from __future__ import annotations

import base64
import io
import json
import random
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

MEGABYTE = 1_000_000
QUESTION = "where does the treasure of the captain lie"

NUMBERS = (
    *("0", "-1", "1e300", "-1e300", "1e400", "NaN", "Infinity", "true", "null", '"5"', '"1e9"', '""', "1.5", "[]"),
    *("9223372036854775808", "-9223372036854775809", "1" * 400, "0.1e-400", '"' + "9" * 5000 + '"', "{}", "2147483648"),
)
TIMES = (
    *("0000-01-01", "9999-12-31", "-1", "2024-02-30", "2024-13-01", "NaN", "1e400", "99999-01-01", "now", "yesterday"),
    *("2024-01-01T25:00:00", "2024-01-01T00:00:00+99:00", "2024-01-01T00:00:00Z", "0001-01-01T00:00:00+14:00"),
    *("9999-12-31T23:59:59-14:00", "2024-W53-7", "2024-366", "20240101", "٢٠٢٤-٠١-٠١", "2024-01-01\0", " ", "1" * 5000),
    *("2024-01-01T00:00:60", "12:00", "2024-01-01T00:00:00.123456789123", "--02-30", "P1D", "3000000w", "-30d", "30d"),
)
NAMES = (
    *("", " ", ".", "..", "../..", "/", "\\", "con", "CON.txt", "-rf", "--help", "*", "%2e%2e%2f", "%00", "a,b", ",,,"),
    *(
        "\u202eneddih",
        "\U0001f9ff",
        "a\0b",
        "\0",
        "a\nb",
        "a" * 300,
        "e\u0301" * 200,
        "ÅÅ",
        "ß",
        "ǅ",
        "'; DROP TABLE x;--",
    ),
    *(
        "${HOME}",
        "{title}",
        "{0.__class__}",
        "%s%n",
        "<script>alert(1)</script>",
        "file:///etc/passwd",
        "a b",
        "open\u200b",
    ),
    *("http://169.254.169.254/", "~root", "C:\\x", "[a", "(a+)+$", "a:b:c", "#" * 50, "name\ufeff", "open ", "OPEN"),
)
SURROGATE = '"a\\ud800b"'


def texts(size: int = 400_000) -> list[str]:
    """Return texts of ``size`` characters that cost much where something takes more than linear time."""
    pieces = (
        *(
            "eyJ",
            "-eyJhbGciOiJI",
            "a.",
            "password=",
            "1Q~",
            "-us1",
            "by 'x",
            "|a",
            "[",
            "![](",
            "*a",
            "`",
            "<a",
            "(",
            "a b",
        ),
        *(
            "\n# ",
            "\n- ",
            "\n> ",
            "\n|-",
            "\n\t",
            "AND ",
            "NOT ",
            '"',
            "path:*",
            "a/../",
            "\u0301",
            "\u202e",
            "\U0001f600",
        ),
        *("http://", "x@y:", "def f(", "class A:\n ", "{{", "\\", "&amp;", "\r", "\u00df", "0x", "1.1.1.", "a-", "A_b"),
        *(
            "<!--",
            "\n```",
            "---\n",
            "$$",
            "\\begin{a}",
            "data:image/png;base64,",
            "/*",
            "'",
            "=\n",
            "\n\n",
            "\0",
            "\u4e00",
        ),
    )
    return [(piece * (size // len(piece) + 1))[:size] for piece in pieces]


def nested(depth: int, kind: str = "[") -> str:
    """Return JSON that is so deep."""
    if kind == "[":
        return "[" * depth + "]" * depth
    return '{"a":' * depth + "1" + "}" * depth


def bombs() -> list[str]:
    """Return texts that grow where they are read: entities, aliases, archives, wide and deep tables."""
    laughs = "".join(f'<!ENTITY l{n} "{f"&l{n - 1};" * 10}">' for n in range(1, 12))
    aliases = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 12))
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("word/document.xml", b"0" * 20 * MEGABYTE)
    return [
        f'<?xml version="1.0"?><!DOCTYPE l [<!ENTITY l0 "ha">{laughs}]><l>&l11;</l>',
        '<?xml version="1.0"?><!DOCTYPE l [<!ENTITY x SYSTEM "file:///etc/passwd">]><l>&x;</l>',
        f"---\n{aliases}---\n# Bomb\n",
        aliases,
        f"---\nx: {nested(20_000)}\n---\n# Deep\n",
        nested(100_000),
        nested(50_000, "{"),
        base64.b64encode(packed.getvalue()).decode(),
        packed.getvalue().decode("latin-1"),
        "|".join(["a"] * 50_000) + "\n" + "|".join(["-"] * 50_000) + "\n" + "|".join(["1"] * 50_000),
        "| a | b |\n|---|---|\n" + "| 1 | 2 |\n" * 30_000,
        "<table>" + "<tr><td>" * 30_000,
        "<div>" * 50_000,
        ">" * 50_000 + " deep",
        "".join(f"{' ' * n}- a\n" for n in range(800)),
        "".join(f"{'#' * (n % 6 + 1)} h{n}\n" for n in range(20_000)),
        "- [ ] " * 60_000,
        "[" * 60_000 + "a" + "](b)" * 60_000,
        "*_" * 100_000,
        "def f():\n" + "".join(f"{' ' * n}if x:\n" for n in range(1, 500)),
        "((((" * 50_000,
        "x = " + "(" * 10_000 + ")" * 10_000,
        "\n" * 400_000,
        "a" * 400_000,
        "a " * 200_000,
    ]


def filters() -> list[str]:
    """Return filters: oversized, deep, of wrong kinds, with names and operators there are not."""
    many = json.dumps({f"f{n}": n for n in range(10_000)})
    return [
        *("[]", "1", '"x"', "null", "true", '"{"', '"{\\"a\\": 1}"', '"' + '{\\"a\\":' * 20_000 + '"', many),
        json.dumps({"tag": list(range(20_000))}),
        json.dumps({"tag": ["x" * MEGABYTE]}),
        json.dumps({"x" * MEGABYTE: 1}),
        *(nested(depth, "{") for depth in (3, 64, 500, 900, 5_000, 100_000)),
        *(f'{{"tag": {nested(depth)}}}' for depth in (2, 64, 900, 100_000)),
        *(f'{{"tag": {{"{operator}": {value}}}}}' for operator in OPERATORS for value in ODD),
        *(f"{{{json.dumps(field)}: {value}}}" for field in FIELDS for value in ODD),
        '{"path": "a", "path": "b", "path": {"glob": "*"}}',
        json.dumps({"path": {"glob": ["*" * 30 + str(n) for n in range(5_000)]}}),
        json.dumps({"created": {"gte": "0000-00-00", "lt": "9999-99-99"}}),
        json.dumps({"not": {"not": {"not": {}}}, "or": [{}], "and": []}),
        f'{{"tag": {{"ne": {SURROGATE}}}}}',
        f"{{{SURROGATE}: 1}}",
    ]


OPERATORS = ("gte", "gt", "lte", "lt", "ne", "glob", "$gt", "regex", "in", "")
FIELDS = ("path", "tags", "created", "collection", "doc_id", "uri", "", "__class__", "a.b.c", "id", "\0", "metadata")
ODD = ("null", "[]", "{}", "1e300", "NaN", '""', '"\\u0000"', SURROGATE, "[[1]]", "true", "-9223372036854775809", '"["')


def id_lists() -> list[str]:
    """Return lists that are long, deep, of wrong kinds, or full of odd texts."""
    return [
        json.dumps([f"doc_{n}" for n in range(10_000)]),
        json.dumps(["doc_1"] * 10_000),
        json.dumps(list(range(10_000))),
        json.dumps([None] * 10_000),
        json.dumps(["x" * MEGABYTE]),
        json.dumps(["\0", "", " ", "..", "a\0b"]),
        json.dumps(list(NAMES)),
        json.dumps([{}] * 1_000),
        json.dumps([{"title": "x", "text": "y"}] * 5_000),
        json.dumps([{"title": "a" * 100_000, "text": "b", "metadata": {"a": [[[[1]]]]}}]),
        json.dumps(["*" * 4_000] * 100),
        f"[{SURROGATE}]",
        f'[{{"title": {SURROGATE}, "text": "y"}}]',
        nested(900),
        nested(100_000),
        *(
            "[]",
            "[[]]",
            "{}",
            '"a,b,c"',
            '"[1,"',
            '"' + "[" * 50_000 + '"',
            "5",
            "null",
            '[1, "a", null, true, [], {}]',
        ),
        '"' + "a," * 300_000 + '"',
    ]


def strings() -> list[str]:
    """Return names, as JSON, those of a megabyte and half characters too."""
    return [*map(json.dumps, NAMES), SURROGATE, '"\\udfff"', json.dumps("n" * MEGABYTE), json.dumps("../" * 100_000)]


KINDS: dict[str, list[str]] = {}
"""Kind → values as JSON, made when first asked for."""


def values(kind: str) -> list[str]:
    """Return all values of a kind: number, time, name, text, filter, list or boolean."""
    if not KINDS:
        KINDS["number"] = list(NUMBERS)
        KINDS["time"] = [*map(json.dumps, TIMES), *NUMBERS, SURROGATE, '["2024-01-01"]', '{"gte": "2024-01-01"}']
        KINDS["name"] = strings()
        KINDS["text"] = [json.dumps(text) for text in [*texts(), *bombs()]] + [SURROGATE, '"\\u0000"', '""', "[1]", "5"]
        KINDS["filter"], KINDS["list"] = filters(), id_lists()
        KINDS["boolean"] = ["null", '"true"', '"maybe"', "2", "[]", "{}", "NaN", '""', "-1", SURROGATE]
    return KINDS[kind]


_TEXTS = ("query", "question", "text", "content", "title", "summary")
_TIMES = ("as_of", "since", "version", "if_version")


def kind_of(name: str, schema: Mapping[str, Any]) -> str:
    """Return which kind of values suits a parameter."""
    if name in _TIMES:
        return "time"
    if name in _TEXTS:
        return "text"
    by_type = {"integer": "number", "number": "number", "boolean": "boolean", "array": "list", "object": "filter"}
    return by_type.get(str(schema.get("type")), "name")


def bodies(
    schema: Mapping[str, Any], good: Mapping[str, Any], chosen: random.Random, each: int
) -> Iterator[tuple[str, str]]:
    """Yield (what is wrong, body) for the parameters of a JSON Schema: ``each`` values for every one of them.

    ``good`` are values with which a call is right. One value in five is of a kind that does not suit its parameter.
    """
    for name, about in schema.get("properties", {}).items():
        suits = kind_of(name, about)
        for _ in range(each):
            kind = suits if chosen.random() < 0.8 else chosen.choice(("number", "time", "name", "filter", "list"))
            number = chosen.randrange(len(values(kind)))
            yield f"{name}={kind}[{number}]", _body(good, name, values(kind)[number])
    plain = json.dumps(dict(good))[1:-1]
    comma = ", " if plain else ""
    yield "unknown field", f'{{{plain}{comma}"nobody_knows": 1}}'
    yield "field of a megabyte", f'{{{plain}{comma}"{"x" * MEGABYTE}": 1}}'
    yield "every key twice", f"{{{plain}{comma}{plain}}}"
    yield "half a character as a key", f"{{{plain}{comma}{SURROGATE}: 1}}"
    yield "a key that says class", f'{{{plain}{comma}"__class__": {{"__init__": 1}}}}'


def _body(good: Mapping[str, Any], name: str, value: str) -> str:
    others = (f"{json.dumps(key)}: {json.dumps(one)}" for key, one in good.items() if key != name)
    return "{" + ", ".join([*others, f"{json.dumps(name)}: {value}"]) + "}"


NO_OBJECTS = (
    "",
    "{",
    "[]",
    "null",
    "5",
    '"a"',
    "{}{}",
    "\0",
    "\ufeff{}",
    nested(100_000),
    nested(100_000, "{"),
    "{'a': 1}",
)
"""Bodies that are no JSON object."""
