"""The question sets, each with its documents as a folder that ``Library.add`` can read."""

from __future__ import annotations

import gzip
import json
import os
import tarfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote, unquote

from pinakes.evaluation.questions import Question, read_beir, read_golden
from pinakes.types import Hit

ROOT = Path(__file__).parents[2]
DATA = Path(os.environ.get("PINAKES_TEST_DATA") or ROOT.parent / "shared" / "data")


@dataclass(frozen=True)
class QuestionSet:
    """Questions, their documents, and how a hit names its document."""

    name: str
    questions: Callable[[], list[Question]]
    documents: Callable[[Path], Path]
    name_of: Callable[[Hit], str]
    profile: str = ""
    include: tuple[str, ...] = ()


def available() -> list[QuestionSet]:
    """Return the sets whose data is on this machine; the project's own documents are always there."""
    own = QuestionSet(
        "pinakes",
        lambda: read_golden(Path(__file__).with_name("pinakes.jsonl")),
        lambda _: ROOT,
        lambda hit: hit.path,
        include=("*.md", "src/**"),
    )
    sets = [
        _beir("scifact"),
        _beir("cranfield"),
        _beir("k8s-docs-qa"),
        _golden("keps", "keps.tar.gz", lambda hit: str(hit.metadata.get("kep_id", hit.path)), "kep"),
        _golden("handbook", "handbook.tar.gz", lambda hit: hit.path),
        _golden("linux", "linux-5.17-subset.tar.gz", lambda hit: hit.path.removeprefix("linux/")),
    ]
    return [own, *(one for one in sets if (DATA / one.name).is_dir())]


def _golden(name: str, archive: str, name_of: Callable[[Hit], str], profile: str = "") -> QuestionSet:
    def documents(work: Path) -> Path:
        if not work.exists():
            with tarfile.open(DATA / name / archive) as tar:
                tar.extractall(work, filter="data")
        return work

    return QuestionSet(name, lambda: read_golden(DATA / name / "golden.jsonl"), documents, name_of, profile)


def _beir(name: str) -> QuestionSet:
    def documents(work: Path) -> Path:
        if not work.exists():
            work.mkdir(parents=True)
            with gzip.open(DATA / name / "corpus.jsonl.gz", "rt", encoding="utf-8") as lines:
                for line in lines:
                    row = json.loads(line)
                    title = " ".join(str(row.get("title", "")).split())
                    text = f"# {title}\n\n{row['text']}\n" if title else f"{row['text']}\n"
                    (work / f"{quote(row['_id'], safe='')}.md").write_text(text, "utf-8")
        return work

    return QuestionSet(
        name, lambda: read_beir(DATA / name), documents, lambda hit: unquote(Path(hit.path).name.removesuffix(".md"))
    )
