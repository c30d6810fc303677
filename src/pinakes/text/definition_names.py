"""The names that a piece of source code defines, from its syntax tree."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tree_sitter import Node

FUNCTIONS = frozenset(
    {
        "abstract_method_signature",
        "annotation_type_element_declaration",
        "compact_constructor_declaration",
        "constructor_declaration",
        "function_declaration",
        "function_definition",
        "function_item",
        "function_signature",
        "function_signature_item",
        "generator_function_declaration",
        "macro_definition",
        "method_declaration",
        "method_definition",
        "method_elem",
        "method_signature",
        "preproc_function_def",
    }
)
"""Nodes whose name is on all of their pieces; definitions inside of them are separate."""

TYPES = frozenset(
    {
        "abstract_class_declaration",
        "annotation_type_declaration",
        "class_declaration",
        "class_definition",
        "class_specifier",
        "enum_declaration",
        "enum_item",
        "enum_specifier",
        "impl_item",
        "interface_declaration",
        "internal_module",
        "mod_item",
        "module",
        "record_declaration",
        "struct_item",
        "struct_specifier",
        "trait_item",
        "union_item",
        "union_specifier",
    }
)
"""Nodes whose pieces are under their name."""

_VALUES = frozenset(
    {
        "alias_declaration",
        "associated_type",
        "concept_definition",
        "const_item",
        "preproc_def",
        "static_item",
        "type_alias",
        "type_alias_declaration",
        "type_alias_statement",
        "type_item",
        "type_spec",
        "union_declaration",
        "variable_declarator",
    }
)
_LISTS = frozenset({"const_spec", "var_spec"})
DECLARATIONS = frozenset({"declaration", "type_definition"})

_INSIDE = frozenset(
    {
        "ambient_declaration",
        "annotation_type_body",
        "block",
        "class_body",
        "const_declaration",
        "constant_declaration",
        "declaration_list",
        "decorated_definition",
        "enum_body",
        "enum_body_declarations",
        "ERROR",
        "export_statement",
        "expression_statement",
        "field_declaration",
        "field_declaration_list",
        "foreign_mod_item",
        "interface_body",
        "interface_type",
        "lexical_declaration",
        "linkage_specification",
        "namespace_definition",
        "preproc_elif",
        "preproc_else",
        "preproc_if",
        "preproc_ifdef",
        "source_file",
        "statement_block",
        "template_declaration",
        "type_declaration",
        "var_declaration",
        "var_spec_list",
        "variable_declaration",
    }
)
CONTAINERS = TYPES | DECLARATIONS | _INSIDE | {"type_spec"}
"""Nodes that may contain further definitions."""

NOT_IN_C = frozenset({"expression_statement", "field_declaration", "field_declaration_list"})
"""Containers that have no definitions in C."""

_SYSTEM_CALL = re.compile(rb"(?:COMPAT_)?SYSCALL_DEFINE\d\s*\(\s*(\w+)")
_MACRO = re.compile(rb"(?:static\s+)?(?:(?:DEFINE|DECLARE)_\w+|LIST_HEAD|TRACE_EVENT)\s*\(\s*(?:struct\s+)?(\w+)")
_TYPED_MACRO = re.compile(rb"(?:static\s+)?(?:DEFINE|DECLARE)_(?:PER_CPU|EVENT)\w*\s*\(\s*[\w\s*]+,\s*(\w+)")
_HEAD_BYTES = 200
_MOST_CHARS = 200
_MACRO_NODES = frozenset({"expression_statement", "declaration", "function_definition", "ERROR"})


def names(node: Node, source: bytes, *, top_level: bool) -> list[str]:
    """Return the names that ``node`` itself defines, without those of definitions inside of it.

    ``source``: what was parsed; a node itself gives its text slowly.
    """
    kind = node.type
    if kind in _MACRO_NODES and (found := _macro(node, source)):
        return found
    if kind == "assignment":
        return _assigned(node, source) if top_level else []
    if kind in DECLARATIONS:
        return _declared(node, source, top_level=top_level)
    if kind == "function_definition" and (declarator := node.child_by_field_name("declarator")):
        return _texts([_innermost(declarator)], source)
    if kind in TYPES:
        return _type_name(node, source)
    if kind in _LISTS:
        return _texts(node.children_by_field_name("name"), source)
    if kind in FUNCTIONS or (kind in _VALUES and (top_level or kind != "variable_declarator")):
        return _texts([node.child_by_field_name("name")], source)
    return []


def is_defining(node: Node) -> bool:
    """Return whether ``node`` is a type with a body, rather than a mention of it."""
    return node.type in TYPES and node.child_by_field_name("body") is not None


def _type_name(node: Node, source: bytes) -> list[str]:
    if not is_defining(node) and node.type not in ("struct_item", "enum_item", "mod_item"):
        return []
    name = node.child_by_field_name("name") or node.child_by_field_name("type")
    if node.type == "impl_item" and name is not None:
        name = name.child_by_field_name("type") or name
    return _texts([name], source)


def _declared(node: Node, source: bytes, *, top_level: bool) -> list[str]:
    """Return the variables or types of a C declaration; a prototype or an extern defines nothing."""
    if not top_level or any(child.type == "ERROR" or _is_extern(child, source) for child in node.children):
        return []
    found = []
    for declarator in node.children_by_field_name("declarator"):
        inner = declarator
        if inner.type == "init_declarator":
            inner = inner.child_by_field_name("declarator") or inner
        if node.type == "type_definition" or not _is_prototype(inner):
            found.append(_innermost(inner))
    return _texts(found, source)


def _is_prototype(declarator: Node) -> bool:
    while declarator.type in ("pointer_declarator", "reference_declarator"):
        inner = declarator.child_by_field_name("declarator")
        if inner is None:
            return False
        declarator = inner
    if declarator.type != "function_declarator":
        return False
    inner = declarator.child_by_field_name("declarator")
    return inner is None or inner.type != "parenthesized_declarator"


def _innermost(node: Node) -> Node:
    """Return the name inside of a C declarator or a qualified name."""
    for _ in range(32):
        inner = node.child_by_field_name("declarator")
        if inner is None and node.type in ("qualified_identifier", "template_function", "template_type"):
            inner = node.child_by_field_name("name")
        if inner is None and node.type in ("parenthesized_declarator", "reference_declarator", "attributed_declarator"):
            inner = next(
                (child for child in node.named_children if child.type.endswith(("declarator", "identifier"))), None
            )
        if inner is None:
            break
        node = inner
    return node


def _assigned(node: Node, source: bytes) -> list[str]:
    left = node.child_by_field_name("left")
    return _texts([left], source) if left is not None and left.type == "identifier" else []


def _macro(node: Node, source: bytes) -> list[str]:
    head = source[node.start_byte : min(node.end_byte, node.start_byte + _HEAD_BYTES)]
    if call := _SYSTEM_CALL.match(head):
        name = call[1].decode()
        return [f"sys_{name}", name]
    found = _TYPED_MACRO.match(head) or _MACRO.match(head)
    return [found[1].decode()] if found else []


def _is_extern(node: Node, source: bytes) -> bool:
    return source[node.start_byte : node.end_byte] == b"extern" if node.end_byte - node.start_byte == 6 else False


def _texts(nodes: list[Node | None] | list[Node], source: bytes) -> list[str]:
    places = [(node.start_byte, node.end_byte) for node in nodes if node is not None]
    found = (source[start:end].decode("utf-8", "replace") for start, end in places if end - start < 4 * _MOST_CHARS)
    return [text for text in found if text and len(text) < _MOST_CHARS and "\n" not in text]
