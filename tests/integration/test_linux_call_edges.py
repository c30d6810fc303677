"""Call edges of the Linux subset, beside a tokenizer that knows no syntax tree."""

from __future__ import annotations

import os
import random
import re
import tarfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import pytest

from pinakes.core.records import Document
from pinakes.extraction import Extraction
from pinakes.settings import GraphRules

DATA = Path(os.environ.get("PINAKES_TEST_DATA", "../shared/data")) / "linux" / "linux-5.17-subset.tar.gz"
FILES, FUNCTIONS, SEED = 60, 400, 20261126

_APART = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL)
_FUNCTION = re.compile(
    r"^(?!#|\s|/|\*|\}|typedef|enum\b|union\b)(?P<head>[^;{}#\"=]*?)\n\{(?P<body>.*?)\n\}", re.MULTILINE | re.DOTALL
)
_CALL = re.compile(r"(?<![\w.>])([A-Za-z_]\w*)\s*\(")
_POINTER = re.compile(r"\(\s*\*\s*(?:const )?(\w+)\s*\)\s*\(")
_NONE = frozenset(
    "if for while switch return sizeof typeof __typeof__ defined do else case __attribute__ asm __asm__ void int "
    "volatile __volatile__".split()
)


def functions(text: str) -> Iterator[tuple[str, set[str]]]:
    """Yield each function with what it calls by name: words before a bracket that are no parameters."""
    bare = _APART.sub(lambda found: re.sub(r"[^\n]", " ", found[0]), text)
    for found in _FUNCTION.finditer(bare):
        named = re.search(r"(\w+)\s*\(\s*(\w*)", found["head"])
        if named is None or re.match(r"__\w+$|[A-Z0-9_]+$", named[1]):
            continue
        held = {*re.findall(r"\w+", found["head"][named.end(1) :]), *_POINTER.findall(found["body"])}
        yield named[1], {name for name in _CALL.findall(found["body"]) if name not in _NONE | held}


@pytest.mark.skipif(not DATA.is_file(), reason="no Linux subset")
def test_calls_of_the_linux_subset_are_those_that_its_functions_write() -> None:
    kinds = {kind: {} for kind in ("FUNCTION", "STRUCT", "CLASS", "MACRO", "CONFIG", "FILE")}
    extraction = Extraction(GraphRules.model_validate({"types": kinds, "code": True, "candidates": False}))
    draw = random.Random(SEED)
    with tarfile.open(DATA) as archive:
        members = sorted((one for one in archive if one.name.endswith(".c")), key=lambda one: one.name)
        texts = {}
        for one in sorted(draw.sample(members, FILES), key=lambda one: one.offset):
            held = archive.extractfile(one)
            assert held is not None
            texts[one.name] = held.read().decode("utf-8", "replace")
    written: dict[tuple[str, str], set[str]] = defaultdict(set)
    said: dict[tuple[str, str], set[str]] = defaultdict(set)
    for path, text in texts.items():
        for name, calls in functions(text):
            written[path, name] |= calls
        findings = extraction.extract(path, path, Document(text, title=path, kind="code", language="c"), {})
        for edge in findings.relations:
            if edge.type == "CALLS" and not edge.target.name.startswith("->"):
                said[path, edge.source.name.partition("@")[0]].add(edge.target.name.partition("@")[0])
    sample = draw.sample(sorted(written), FUNCTIONS)
    both = sum(len(said[one] & written[one]) for one in sample)
    assert both > FUNCTIONS
    assert both / sum(len(said[one]) for one in sample) >= 0.98
    assert both / sum(len(written[one]) for one in sample) >= 0.97
