"""What is read and asked: the KEP corpus where the data is, else the project's own documents."""

from __future__ import annotations

import shutil
import tarfile
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from benchmarks.quality.sets import DATA, ROOT
from pinakes.evaluation.questions import read_golden

_T = TypeVar("_T")

KEPS = DATA / "keps"
LINUX = DATA / "linux"
_OWN_QUESTIONS = (
    "what happens to my documents when the process is killed?",
    "how do I connect an AI agent?",
    "where are keyword and vector scores combined?",
    "add a new file format",
    "which settings decide how large a chunk is",
    "exit codes of errors",
    "rebuild the index without embedding again",
    "only documents under a path",
    "weights are converted to ONNX",
    "several processes share one home",
)
_OWN = ("README.md", "ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "docs", "src")


@dataclass(frozen=True, slots=True)
class Corpus:
    """A folder of our own to index and to change, and questions about it."""

    name: str
    folder: Path
    questions: tuple[str, ...]
    profile: str
    note: str


@dataclass(frozen=True, slots=True)
class _Archive:
    """A corpus of the test data, its questions beside it."""

    archive: Path
    words: str
    profile: str = ""


_ARCHIVES = {
    "keps": _Archive(KEPS / "keps.tar.gz", "the KEP corpus", "kep"),
    "linux": _Archive(LINUX / "linux-5.17-subset.tar.gz", "the Linux subset"),
}


_SMALL_BYTES = 4000
"""Files of the project that are no larger are not among few ones: those could have so little text that all is done at
once."""


def prepare(name: str | None, work: Path, limit_files: int = 0) -> Corpus:
    """Put the corpus ``name`` ("keps", "linux" or "own"; None chooses) below ``work``, thinned to ``limit_files``.

    Raises:
        FileNotFoundError: the corpus that was asked for is not there.
    """
    chosen = name or ("keps" if KEPS.is_dir() else "own")
    folder = work / (f"documents-{chosen}" if chosen == "linux" else "documents")
    shutil.rmtree(folder, ignore_errors=True)
    if chosen in _ARCHIVES:
        about = _ARCHIVES[chosen]
        _extract(about.archive, folder, limit_files)
        note = f"{limit_files} files of {about.words}: not comparable" if limit_files else ""
        questions = tuple(question.text for question in read_golden(about.archive.with_name("golden.jsonl")))
        return Corpus(chosen, folder, questions, about.profile, note)
    _copy_own(folder, limit_files)
    where = "as asked" if name else f"since {KEPS} is not there (PINAKES_TEST_DATA)"
    note = f"the project's own documents, {where}: not comparable with the KEP corpus"
    return Corpus(chosen, folder, _OWN_QUESTIONS, "", note)


def write_notes(folder: Path, numbers: Iterable[int]) -> None:
    """Write a small Markdown file, unlike the others, for each of ``numbers`` into folders of ``folder``."""
    for number in numbers:
        file = folder / f"part{number % 97}" / f"{number % 7}" / f"{number}.md"
        file.parent.mkdir(parents=True, exist_ok=True)
        text = f"# Note {number}\n\nOf part {number % 97} this says {number * 31} times that all is well.\n"
        file.write_text(text, "utf-8")


def _extract(archive: Path, folder: Path, limit: int) -> None:
    with tarfile.open(archive) as tar:
        files = sorted((member for member in tar.getmembers() if member.isfile()), key=lambda member: member.name)
        tar.extractall(folder, _thinned(files, limit), filter="data")


def _copy_own(folder: Path, limit: int) -> None:
    tops = [ROOT / name for name in _OWN]
    found = [file for top in tops for file in (sorted(top.rglob("*")) if top.is_dir() else [top])]
    files = [file for file in found if file.is_file() and "__pycache__" not in file.parts]
    if limit:
        files = [file for file in files if file.stat().st_size > _SMALL_BYTES]
    for file in _thinned(files, limit):
        copy = folder / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)


def _thinned(files: list[_T], limit: int) -> list[_T]:
    return [files[i * len(files) // limit] for i in range(limit)] if 0 < limit < len(files) else files
