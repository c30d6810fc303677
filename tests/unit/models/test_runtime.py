"""Sessions: eight-bit sums are exact on every processor, and no slower than they need be for that."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from bert_reference import make_tiny_bert

from pinakes.models import folders, runtime
from pinakes.models.convert import GRAPH, WEIGHTS, convert
from pinakes.models.runtime import open_session

EXACT = "session.x64quantprecision"
WITH = "processor\t: 0\nflags\t\t: fpu avx2 avx512f avx512_vnni pku\nbugs\t\t: spectre\n"
CLIENT = "flags\t\t: fpu avx2 avx_vnni\n"
WITHOUT = "model name\t: vnni in name only\nflags\t\t: fpu avx2 avx512f\n"


@pytest.fixture(scope="module")
def graph(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = make_tiny_bert(tmp_path_factory.mktemp("model") / "tiny")
    target = tmp_path_factory.mktemp("cache") / "graph"
    convert(folder, target, "embedding", "int8", folders.sha256(folder / WEIGHTS))
    return target / GRAPH


@pytest.mark.parametrize(
    ("processors", "entry"),
    [(WITH, None), (CLIENT, None), (WITHOUT, "1"), (None, "1")],
    ids=["server", "client", "without", "unknown"],
)
def test_sums_are_asked_to_be_exact_where_the_processor_is_not_known_to_add_in_32_bits(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, processors: str | None, entry: str | None
) -> None:
    file = tmp_path / "cpuinfo"
    if processors is not None:
        file.write_text(processors)
    monkeypatch.setattr(runtime, "_PROCESSORS", file)
    options = open_session(graph).get_session_options()
    try:
        assert options.get_session_config_entry(EXACT) == entry
    except RuntimeError:  # what the library raises for an entry that was not made
        assert entry is None


def test_vectors_of_this_processor_are_those_of_exact_sums(
    graph: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ids = {"input_ids": np.arange(5, 25, dtype=np.int32)[None]}
    here = open_session(graph).run(None, ids)[0]
    monkeypatch.setattr(runtime, "_PROCESSORS", tmp_path / "missing")
    assert np.array_equal(open_session(graph).run(None, ids)[0], here)
