"""The question sets, each with its documents as a folder that ``Library.add`` can read."""

from __future__ import annotations

import os
import tarfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from pinakes.core.records import SearchMode
from pinakes.evaluation import beir, golden, names
from pinakes.evaluation.names import DocumentNames
from pinakes.evaluation.questions import GoldenSet, Question
from pinakes.evaluation.run import ranked
from pinakes.library import Library

ROOT = Path(__file__).parents[2]
PASTED = ("keps", "handbook")
"""Of their documents there are questions in the form that people paste into a search box."""

DATA = Path(os.environ.get("PINAKES_TEST_DATA") or ROOT.parent / "shared" / "data")


@dataclass(frozen=True)
class QuestionSet:
    """Questions, and their documents: ``documents`` puts them into a folder unless they are there.

    ``corpus`` is the set whose documents, and so whose home, these questions are asked of; "" = the set itself.
    """

    name: str
    place: Path
    documents: Callable[[Path], Path]
    profile: str = ""
    include: tuple[str, ...] = ()
    corpus: str = ""

    @property
    def home(self) -> str:
        """The name of the folder that its documents have, and of the home that they were read into."""
        return self.corpus or self.name

    def golden(self) -> GoldenSet:
        """Read the questions."""
        return golden.read(self.place)

    def names(self, library: Library) -> DocumentNames:
        """Return which documents of a library the questions name."""
        relevant = [document for question in self.golden().questions for document in question.relevant]
        with library.app.catalog.read() as connection:
            return names.resolve(connection, library.collection().id, relevant)


def asker(one: QuestionSet, full: Library) -> Callable[[Library, SearchMode, Question], list[str]]:
    """Return a function that ranks documents by the names that the questions have for them.

    It may be asked with any copy of ``full``: documents keep their ids.
    """
    called = one.names(full)

    def ask(library: Library, mode: SearchMode, question: Question) -> list[str]:
        return list(ranked(library.rank(question.text, mode=mode), called, question.relevant))

    return ask


def available() -> list[QuestionSet]:
    """Return the sets whose data is on this machine; the project's own documents are always there."""
    own = QuestionSet(
        "pinakes", Path(__file__).with_name("pinakes.jsonl"), lambda _: ROOT, include=("*.md", "src/**")
    )  # fmt: skip
    sets = [
        _beir("scifact"),
        _beir("cranfield"),
        _beir("cisi"),
        _beir("k8s-docs-qa"),
        _golden("keps", "keps.tar.gz", "kep"),
        _golden("handbook", "handbook.tar.gz"),
        _golden("linux", "linux-5.17-subset.tar.gz"),
    ]
    sets += [_pasted(one) for one in sets if one.name in PASTED]
    return [own, *(one for one in sets if (DATA / one.home).is_dir())]


def _pasted(one: QuestionSet) -> QuestionSet:
    """Return our own long, quoted and pasted questions about the documents of a set."""
    name = f"pasted-{one.name}"
    return replace(one, name=name, place=Path(__file__).with_name(f"{name}.jsonl"), corpus=one.name)


def _golden(name: str, archive: str, profile: str = "") -> QuestionSet:
    def documents(work: Path) -> Path:
        if not work.exists():
            with tarfile.open(DATA / name / archive) as tar:
                tar.extractall(work, filter="data")
        return work

    return QuestionSet(name, DATA / name / "golden.jsonl", documents, profile)


def _beir(name: str) -> QuestionSet:
    def documents(work: Path) -> Path:
        beir.write_corpus(DATA / name, work)
        return work

    return QuestionSet(name, DATA / name, documents)
