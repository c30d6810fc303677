"""Which versions of the analyser and of the format made an index. They are recorded in its folder.

An index of an older version goes on answering by the analyser that made it until it is built again; one of a newer
version is refused, and never touched.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from pinakes.core.errors import NO_DESCRIPTORS, IndexCorrupt, IndexTooNew, no_descriptors, storing
from pinakes.indexes.storage import checksums
from pinakes.indexes.storage.analyzer_v1 import AnalyzerV1
from pinakes.platform.permissions import make_private
from pinakes.text import analysis
from pinakes.text.analysis import Analyzer

FORMAT = 2
"""The version of what an index holds besides terms: its fields, and how vectors are kept. Raise it when that changes.

1 did not record its version."""

FILE = "versions.json"
_KEYWORD_FOLDERS = ("keyword", "documents")


class Analysis(Protocol):
    """What an index needs of the analyser that made it."""

    def terms(self, text: str) -> list[str]:
        """Return the terms of ``text`` in order."""
        ...

    def words(self, text: str) -> list[str]:
        """Return the words of ``text`` as they are written, in order."""
        ...

    def terms_of(self, words: Iterable[str]) -> list[str]:
        """Return the terms of ``words``, in their order."""
        ...

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct terms of a query."""
        ...


@dataclass(frozen=True, slots=True)
class IndexVersion:
    """What made an index: the version of its format, that of its analyser, and the languages that this stems.

    ``languages`` are those of the settings: () is English and what each document is plainly in.
    """

    format: int
    analyser: int
    languages: tuple[str, ...] = ()

    def is_present(self, languages: Sequence[str]) -> bool:
        """Say whether an index that is built now, with these languages, is made in the same way."""
        return self == current_version(languages)

    @property
    def is_newer(self) -> bool:
        """Whether a newer Pinakes made it."""
        return self.format > FORMAT or self.analyser > analysis.VERSION

    def __str__(self) -> str:
        languages = ", ".join(self.languages) or "languages by document"
        return f"format {self.format}, analyser {self.analyser} ({languages})"


FIRST = IndexVersion(1, 1, ("english",))
"""The version of indexes that did not record it."""


def current_version(languages: Sequence[str] = ()) -> IndexVersion:
    """Return the version of an index that is built now, with these languages."""
    return IndexVersion(FORMAT, analysis.VERSION, tuple(languages))


def recorded(folder: Path) -> IndexVersion | None:
    """Return the version of the index in ``folder``, None where there is no index yet.

    Raises:
        IndexCorrupt: what is recorded cannot be read.
    """
    try:
        found = checksums.unsealed((folder / FILE).read_text("utf-8"))
        return IndexVersion(_number(found["format"]), _number(found["analyser"]), _languages(found["languages"]))
    except FileNotFoundError:
        return FIRST if any((folder / name / "meta.json").exists() for name in _KEYWORD_FOLDERS) else None
    except (OSError, ValueError, KeyError, TypeError) as error:
        if isinstance(error, OSError) and error.errno in NO_DESCRIPTORS:
            raise no_descriptors() from error
        raise IndexCorrupt(
            f"The version of the search index cannot be read: {error}.", hint="Rebuild it: pinakes reindex"
        ) from error


def opened(folder: Path, languages: Sequence[str] = ()) -> IndexVersion:
    """Return the version of the index in ``folder``; where there is none, record that it is built by the present one.

    ``languages`` are those of an index that is built now.

    Raises:
        IndexTooNew: a newer Pinakes made it.
        IndexCorrupt: what is recorded cannot be read, or its analyser is not known any more.
        StorageFull: it cannot be written.
    """
    found = recorded(folder)
    if found is None:
        found = current_version(languages)
        with storing("The search index"):
            make_private(folder)
            _write(folder / FILE, checksums.sealed(asdict(found)))
    check(found)
    if found.analyser not in (FIRST.analyser, analysis.VERSION):
        raise IndexCorrupt(
            f"The search index was built by analyser {found.analyser}, which is not there any more.",
            hint="Rebuild it: pinakes reindex",
        )
    return found


def position(folder: Path) -> int:
    """Return up to which change the index in ``folder`` has the words of documents, 0 while that is not told."""
    try:
        texts = [(folder / name / "position.json").read_text("utf-8") for name in _KEYWORD_FOLDERS]
        found = list(map(checksums.unsealed, texts))
        return min(int(one["position"]) for one in found)
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def check(version: IndexVersion) -> None:
    """Make sure that an index can be used.

    Raises:
        IndexTooNew: a newer Pinakes made it.
    """
    if version.is_newer:
        raise IndexTooNew(
            f"The search index was built by a newer Pinakes ({version}; this one knows up to format {FORMAT}, "
            f"analyser {analysis.VERSION}).",
            hint="Update Pinakes. The index was not changed.",
        )


def analyzer_of(version: IndexVersion) -> Analysis:
    """Return the analyser that made the terms of an index."""
    return Analyzer() if version.analyser == analysis.VERSION else AnalyzerV1()


def _number(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise ValueError(f"{value!r} is no version")
    return value


def _languages(value: Sequence[Any]) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"{value!r} are no languages")
    return tuple(value)


def _write(path: Path, text: str) -> None:
    """Write a file whole or not at all. It is on the disk before anything of the index is."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
