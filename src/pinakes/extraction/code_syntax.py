"""Definitions, calls and imports of source code, as places in its syntax tree."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import TYPE_CHECKING, Final

from pinakes.core.graph_records import CLASS, FUNCTION, MACRO, MAX_NAME_CHARS, STRUCT
from pinakes.text.definition_names import FUNCTIONS, TYPES, names
from pinakes.text.syntax_trees import grammar

if TYPE_CHECKING:
    from tree_sitter import Node, Query

MAX_DEFINITIONS: Final = 20_000
MAX_CALLS: Final = 50_000
"""So many definitions and calls of a file are looked at, the first ones."""

_MOST_DEPTH: Final = 1_000
"""What is nested deeper is not looked at: for chains of calls the time would grow with the square of their length."""

SEPARATORS: Final = {"cpp": "::", "rust": "::"}
"""Language → what stands between the name of a class and that of its method; else a dot."""

_KINDS: Final = {
    **dict.fromkeys(FUNCTIONS, FUNCTION),
    **dict.fromkeys(("preproc_function_def", "preproc_def", "macro_definition"), MACRO),
    **dict.fromkeys(TYPES - {"impl_item", "mod_item", "module", "internal_module"}, CLASS),
    **dict.fromkeys(
        ("struct_specifier", "union_specifier", "enum_specifier", "struct_item", "enum_item", "union_item"), STRUCT
    ),
    **dict.fromkeys(("type_definition", "type_spec"), STRUCT),
}
_VALUES: Final = "(variable_declarator name: (identifier) value: [(arrow_function) (function_expression)]) @value"
_C_CALLS: Final = "(call_expression function: [(identifier) (field_expression)] @call)"
_JS_CALLS: Final = (
    "(call_expression function: [(identifier) (member_expression)] @call)"
    " (new_expression constructor: [(identifier) (member_expression)] @call)"
    " (import_statement) @import (class_heritage) @parents"
)
_PATTERNS: Final = {
    "c": f"{_C_CALLS} (preproc_include) @import",
    "cpp": "(call_expression function: [(identifier) (field_expression) (qualified_identifier)] @call)"
    " (preproc_include) @import (base_class_clause) @parents",
    "go": "(call_expression function: [(identifier) (selector_expression)] @call) (import_spec) @import",
    "java": "(method_invocation) @call (object_creation_expression) @call (import_declaration) @import"
    " (superclass) @parents (super_interfaces) @parents (extends_interfaces) @parents",
    "javascript": f"{_JS_CALLS} {_VALUES}",
    "python": "(call function: [(identifier) (attribute)] @call) (import_statement) @import"
    " (import_from_statement) @import (class_definition superclasses: (argument_list) @parents)",
    "rust": "(call_expression function: [(identifier) (scoped_identifier) (field_expression)] @call)"
    " (macro_invocation macro: (identifier) @macro) (use_declaration) @import",
    "tsx": f"{_JS_CALLS} {_VALUES} (extends_type_clause) @parents",
    "typescript": f"{_JS_CALLS} {_VALUES} (extends_type_clause) @parents",
}
_NAMESPACE: Final = "namespace_definition"
_SCOPED: Final = re.compile(rb"((?:\w+\s*::\s*)+)~?$")
_RECEIVER: Final = re.compile(rb"([A-Za-z_]\w*)\s*(?:\[[^\]]*\])?\s*\)")
_MACRO: Final = re.compile(
    rb"#[ \t]*define[ \t]+(\w{1,200})"
    rb"(?:\(|[ \t\\\n(]+(?:[A-Za-z_]\w*[ \t]*\(|[A-Za-z_]*[a-z]\w*[ \t]*(?:$|\n|/)))"
)
"""A macro with arguments, or one that is another name of a function; constants are none."""

_WITH_ARGUMENTS: Final = re.compile(rb"^[ \t]*#[ \t]*define[ \t]+(\w{1,200})\((?:\\\r?\n|[^\n])*", re.MULTILINE)
_ATTRIBUTE: Final = re.compile(rb"__\w+[ \t]*\([^()\n]*\)[ \t\n]+(?:\w+[ \t\n*]+){1,6}(\w{1,200})[ \t]*\(")
_BRACE: Final = re.compile(rb"^\{[ \t]*$", re.MULTILINE)
_CLOSING: Final = re.compile(rb"(?<!\\)\r?\n\}(?![ \t]*[),;\\])")
"""The brace that ends a function: that of a macro, a value or a type in it has something behind it."""

_HEAD_BEGINS: Final = (b"\n\n", b";\n", b"}\n", b"*/\n")
_FUNCTION_HEAD: Final = re.compile(
    rb"^(?!\s|#|/|\*|enum\b|union\b)[\w \t*\n]*?\b(?P<name>(?!__\w+__\b)\w{1,200})[ \t]*"
    rb"\([ \t]*(?P<first>\w{0,150})[^{}=]*$",
    re.MULTILINE,
)
_WRITTEN_CALL: Final = re.compile(
    rb"/\*.*?(?:\*/|\Z)|//[^\n]*|^[ \t]*#(?:\\\r?\n|[^\n])*|\"(?:\\.|[^\"\\\n])*+\"?|'(?:\\.|[^'\\\n])*+'?"
    rb"|(?:->|\.)\s*\w+"
    rb"|\b(?P<name>[A-Za-z_]\w{0,200})\s*(?=\((?!\s*\*\s*+\w*\s*+(?:\[[^\]\n]{0,40}\]\s*+)?\)\s*+\())",
    re.DOTALL | re.MULTILINE,
)
"""A call as it is written; comments, directives, strings and members are passed over, and so are declarations of
pointers to functions. A string that is not closed ends with its line, so that the time stays linear."""
KEYWORDS: Final = frozenset(
    b"if for while switch return sizeof defined typeof __typeof__ do else case __attribute__ asm __asm__ void int"
    b" volatile __volatile__ char short long unsigned bool __alignof__ _Alignof".split()
)
_STATIC: Final = re.compile(rb"\bstatic\b")
_WORD: Final = re.compile(rb"\w{1,200}")
_HEAD: Final = 400
_MOST_COMMENT: Final = 20_000
_LOOKED_BACK: Final = 20


@dataclass(slots=True)
class Definition:
    """A definition: its bytes ``start`` to ``end``, and those of its name, from ``at``.

    ``kind``: the type of entity; "" only gives the definitions in it the first part of their names, ``scope``, which
    stands before ``simple`` in ``name``. ``static``: only its file sees it.
    """

    start: int
    end: int
    at: int
    kind: str
    simple: str
    name: str
    static: bool = False
    scope: str = ""


@dataclass(slots=True)
class Syntax:
    """What a file of code says: places in bytes. ``parents``: the clauses that name base classes."""

    definitions: list[Definition] = field(default_factory=list)
    calls: list[tuple[int, int]] = field(default_factory=list)
    macros: list[tuple[int, int]] = field(default_factory=list)
    imports: list[tuple[int, int]] = field(default_factory=list)
    parents: list[tuple[int, int]] = field(default_factory=list)
    left_out: int = 0


def syntax_of(root: Node, source: bytes, language: str) -> Syntax:
    """Return the definitions, in order of their places and with those around them first, the calls and imports."""
    from tree_sitter import QueryCursor

    cursor = QueryCursor(_query(language))
    cursor.set_max_start_depth(_MOST_DEPTH)
    captured = cursor.captures(root)
    nodes = captured.get("definition", [])
    found = Syntax(left_out=max(0, len(nodes) - MAX_DEFINITIONS))
    bare = [one for node in nodes[:MAX_DEFINITIONS] for one in _defined(node, source, language)]
    bare += [one for node in captured.get("value", ())[:MAX_DEFINITIONS] for one in _value(node, source)]
    unparsed: list[Definition] = []
    if language in ("c", "cpp"):
        for one in bare:
            one.end = _closed(source, one)
        unparsed = list(_unparsed(source, bare))
        bare += _unread_macros(source, bare)
        bare, inner = _without_inner([*bare, *unparsed], source)
        found.calls += inner
    found.definitions = _qualified(bare, SEPARATORS.get(language, "."))
    for name, places in (("call", found.calls), ("macro", found.macros), ("import", found.imports)):
        nodes = captured.get(name, [])
        found.left_out += max(0, len(nodes) - MAX_CALLS)
        places += [(node.start_byte, node.end_byte) for node in nodes[:MAX_CALLS]]
        places.sort()
    written = [one for one in found.definitions if one.kind == FUNCTION] if language == "c" else unparsed
    if written:
        calls = {*found.calls, *(place for one in written for place in _written_calls(source, one))}
        found.calls = sorted(calls)[:MAX_CALLS]
        found.left_out += len(calls) - len(found.calls)
    found.parents = [(node.start_byte, node.end_byte) for node in captured.get("parents", ())[:MAX_DEFINITIONS]]
    return found


@cache
def _query(language: str) -> Query:
    from tree_sitter import Query

    known = grammar(language)
    kinds = sorted(kind for kind in (*_KINDS, *TYPES - _KINDS.keys(), _NAMESPACE) if known.id_for_node_kind(kind, True))
    listed = " ".join(f"({kind})" for kind in kinds)
    return Query(known, f"[{listed}] @definition {_PATTERNS[language]}")


def _defined(node: Node, source: bytes, language: str) -> Iterator[Definition]:
    kind = _KINDS.get(node.type, "")
    start, end = node.start_byte, node.end_byte
    if kind == MACRO and language in ("c", "cpp"):
        if macro := _MACRO.match(source, start, end):
            simple = macro[1].decode("utf-8", "replace")
            yield Definition(start, end, macro.start(1), MACRO, simple, simple)
        return
    for simple in _namespace(node, source) if node.type == _NAMESPACE else names(node, source, top_level=True):
        written = simple.encode("utf-8", "surrogatepass")
        at = source.find(written, start, end)
        if at < 0 or len(simple) > MAX_NAME_CHARS:
            at = start
        if kind == FUNCTION and simple.startswith("__") and (behind := _behind_attribute(source, at, end)):
            simple, at = behind[0].decode("utf-8", "replace"), behind[1]
        one = Definition(start, end, at, kind, simple, simple)
        if kind == FUNCTION and language in ("c", "cpp"):
            one.static = _is_static(source, start, at)
        if language == "cpp" and (scoped := _SCOPED.search(source, max(start, at - _HEAD), at)):
            one.scope = b"".join(scoped[1].split()).decode("utf-8", "replace").removesuffix("::")
        if node.type == "method_declaration" and language == "go":
            receiver = node.child_by_field_name("receiver")
            if receiver is not None and (typed := _RECEIVER.search(source, receiver.start_byte, receiver.end_byte)):
                one.scope = typed[1].decode("utf-8", "replace")
        yield one


def _behind_attribute(source: bytes, at: int, end: int) -> tuple[bytes, int] | None:
    """Return the name behind an attribute that looks like a function: kmalloc of __alloc_size(1) void *kmalloc(…)."""
    found = _ATTRIBUTE.match(source, at, min(end, at + _HEAD))
    return (found[1], found.start(1)) if found else None


def _namespace(node: Node, source: bytes) -> list[str]:
    name = node.child_by_field_name("name")
    return [source[name.start_byte : name.end_byte].decode("utf-8", "replace")] if name is not None else []


def _value(node: Node, source: bytes) -> Iterator[Definition]:
    """Yield the function that a variable of JavaScript holds."""
    name = node.child_by_field_name("name")
    if name is not None and name.end_byte - name.start_byte <= MAX_NAME_CHARS:
        simple = source[name.start_byte : name.end_byte].decode("utf-8", "replace")
        yield Definition(node.start_byte, node.end_byte, name.start_byte, FUNCTION, simple, simple)


def _closed(source: bytes, one: Definition) -> int:
    """Return where a definition ends: a function at the first brace at the start of a line.

    What the parser cannot read may have made it take all that follows for its body.
    """
    if one.kind != FUNCTION or source[one.start - 1 : one.start] not in (b"", b"\n"):
        return one.end
    brace = _CLOSING.search(source, one.at, one.end)
    return brace.end() if brace else one.end


def _unread_macros(source: bytes, found: Sequence[Definition]) -> Iterator[Definition]:
    """Yield macros with arguments that the parser did not read.

    It knows no named rest, ``#define log(fmt, a...)``, and passes over others near code that it cannot read.
    """
    known = {one.at for one in found if one.kind == MACRO}
    for macro in _WITH_ARGUMENTS.finditer(source):
        start = macro.start()
        before = max(0, start - _MOST_COMMENT)
        is_comment = source.rfind(b"/*", before, start) > source.rfind(b"*/", before, start)
        if macro.start(1) not in known and not is_comment:
            simple = macro[1].decode()
            yield Definition(start, macro.end(), macro.start(1), MACRO, simple, simple)


def _unparsed(source: bytes, found: Sequence[Definition]) -> Iterator[Definition]:
    """Yield functions of C that macros keep the parser from seeing: a head, and a body between braces at line starts.

    That are macros which define functions, SYSCALL_DEFINE3(read, …) { … }, and code that is none before it is expanded.
    """
    around = sorted((one.start, one.end) for one in found if one.kind != MACRO)
    ends: list[int] = []
    last = 0
    for _, end in around:
        last = max(last, end)
        ends.append(last)
    starts = [start for start, _ in around]
    for brace in _BRACE.finditer(source):
        place = brace.start()
        at = bisect_right(starts, place) - 1
        if at >= 0 and ends[at] > place:
            continue
        begin = max(source.rfind(mark, max(0, place - _HEAD), place) for mark in _HEAD_BEGINS) + 1
        head = _FUNCTION_HEAD.search(source, max(begin, place - _HEAD), place)
        if head is None:
            continue
        end = source.find(b"\n}", place)
        if end < 0:
            return  # nor is there one behind a later brace
        name, at = _head_name(head)
        simple = name.decode("utf-8", "replace")
        yield Definition(at, end + 2, at, FUNCTION, simple, simple, b"static" in source[begin:at])


def _head_name(head: re.Match[bytes]) -> tuple[bytes, int]:
    """Return the name that a head defines, and its place: that of a macro is its first argument."""
    if behind := _behind_attribute(head.string, head.start("name"), head.end()):
        return behind
    if not head["name"].isupper() or not head["first"]:
        return head["name"], head.start("name")
    return (b"sys_" if b"SYSCALL" in head["name"] else b"") + head["first"], head.start("first")


def _written_calls(source: bytes, one: Definition) -> Iterator[tuple[int, int]]:
    """Yield the calls of a function as they are written, comments and strings aside."""
    begin = source.find(b"{", one.at, one.end)
    for found in _WRITTEN_CALL.finditer(source, begin, one.end) if begin >= 0 else ():
        if found["name"] and found["name"] not in KEYWORDS:
            yield found.span("name")


def _is_static(source: bytes, start: int, at: int) -> bool:
    """Say whether ``static`` stands before a name; an attribute that is a macro may have cut the definition."""
    line = source.rfind(b"\n", 0, start) + 1
    return _STATIC.search(source, line, at) is not None


def _without_inner(found: list[Definition], source: bytes) -> tuple[list[Definition], list[tuple[int, int]]]:
    """Return the definitions without functions in functions of C, which are calls: for_each_cpu(cpu) { … }."""
    found.sort(key=lambda one: (one.start, -one.end))
    kept: list[Definition] = []
    calls: list[tuple[int, int]] = []
    outer = 0
    for one in found:
        if one.kind == FUNCTION and one.start < outer and kept and not _is_in_class(kept, one):
            word = _WORD.match(source, one.start, one.end)
            calls += [word.span()] if word else []
            continue
        if one.kind == FUNCTION:
            outer = max(outer, one.end)
        kept.append(one)
    return kept, calls


def _is_in_class(before: Sequence[Definition], one: Definition) -> bool:
    """Say whether the last class or structure before a definition holds it."""
    last = next((each for each in reversed(before[-_LOOKED_BACK:]) if each.kind in (CLASS, STRUCT)), None)
    return last is not None and last.end >= one.end


def _qualified(found: list[Definition], separator: str) -> list[Definition]:
    """Put definitions in order, and give each the names of those around it."""
    found.sort(key=lambda one: (one.start, -one.end))
    above: list[Definition] = []
    kept: list[Definition] = []
    for one in found:
        while above and above[-1].end <= one.start:
            above.pop()
        around = above[-1] if above else None
        if around is not None and (around.start, around.end, around.simple) == (one.start, one.end, one.simple):
            continue
        if one.kind not in (MACRO, STRUCT) or separator == "::":
            outer = around.name if around is not None and around.kind != MACRO else ""
            one.scope = separator.join(part for part in (outer, one.scope) if part)
            one.name = f"{one.scope}{separator}{one.simple}" if one.scope else one.simple
        kept.append(one)
        if one.kind != MACRO:
            above.append(one)
    return kept


def innermost(definitions: Sequence[Definition], places: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int, int]]:
    """Yield (start, end, number of the innermost definition around it, -1 for none) for each place, in order."""
    above: list[int] = []
    following = 0
    for start, end in places:
        while following < len(definitions) and definitions[following].start <= start:
            while above and definitions[above[-1]].end <= definitions[following].start:
                above.pop()
            above.append(following)
            following += 1
        while above and definitions[above[-1]].end <= start:
            above.pop()
        yield start, end, above[-1] if above else -1
