"""How often ordinary documents are taken for instructions aimed at a model."""

from __future__ import annotations

import gzip
import json
import os
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from pinakes.text.injection import signs

DATA = Path(os.environ.get("PINAKES_TEST_DATA") or Path(__file__).parents[3] / "shared" / "data")
CHUNK_CHARS = 1000


def texts(corpus: Path) -> Iterator[str]:
    if corpus.name.endswith(".jsonl.gz"):
        with gzip.open(corpus, "rt", encoding="utf-8") as lines:
            yield from (f"{entry['title']}\n{entry['text']}" for entry in map(json.loads, lines))
        return
    with tarfile.open(corpus) as archive:
        for member in archive:
            content = archive.extractfile(member)
            if content is not None and member.name.endswith((".md", ".rst", ".txt")):
                yield content.read().decode("utf-8", "replace")


@pytest.mark.parametrize("name", ["keps/keps.tar.gz", "handbook/handbook.tar.gz", "scifact/corpus.jsonl.gz"])
def test_ordinary_documents_raise_no_alarm(name: str) -> None:
    if not (DATA / name).is_file():
        pytest.skip(f"{DATA / name} is not there; set PINAKES_TEST_DATA")
    chunks = [text[at : at + CHUNK_CHARS] for text in texts(DATA / name) for at in range(0, len(text), CHUNK_CHARS)]
    assert len(chunks) > 5000
    assert [chunk for chunk in chunks if signs(chunk)] == []
