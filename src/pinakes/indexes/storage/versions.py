"""The versions of analyser and format that built an index, recorded in its folder.

An index of an older version keeps using its analyser until it is rebuilt; one of a newer version is refused and left
unchanged.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

from pinakes.core.errors import NO_DESCRIPTORS, IndexCorrupt, IndexTooNew, no_descriptors, storing
from pinakes.indexes.storage import checksums
from pinakes.platform.permissions import make_private
from pinakes.text import analysis
from pinakes.text.analysis import english

FORMAT = 2
"""The version of an index's format: its fields, and how vectors are stored. Increase it with every such change.

Version 1 was not recorded."""

FILE = "versions.json"
_KEYWORD_FOLDERS = ("keyword", "documents")


class Analysis(Protocol):
    """The interface of an analyser that an index uses."""

    def terms(self, text: str) -> list[str]:
        """Return the terms of ``text`` in order."""
        ...

    def words(self, text: str) -> list[str]:
        """Return the words of ``text`` in written form, in order."""
        ...

    def terms_of(self, words: Iterable[str]) -> list[str]:
        """Return the terms of ``words``, in their order."""
        ...

    def query_terms(self, text: str) -> list[str]:
        """Return the distinct terms of a query."""
        ...


@dataclass(frozen=True, slots=True)
class IndexVersion:
    """The versions that built an index: format, analyser, and the languages that are stemmed.

    ``languages``: from the settings; () means English and the language detected in each document.
    """

    format: int
    analyser: int
    languages: tuple[str, ...] = ()

    def is_present(self, languages: Sequence[str]) -> bool:
        """Return whether a new index with these languages would have the same version."""
        return self == current_version(languages)

    @property
    def is_newer(self) -> bool:
        """Whether a newer Pinakes built the index."""
        return self.format > FORMAT or self.analyser > analysis.VERSION

    def __str__(self) -> str:
        languages = ", ".join(self.languages) or "languages by document"
        return f"format {self.format}, analyser {self.analyser} ({languages})"


def _first_analyser() -> Analysis:
    from pinakes.indexes.storage.analyzer_v1 import AnalyzerV1  # few indexes are so old

    return AnalyzerV1()


_ANALYSERS: Mapping[int, Callable[[], Analysis]] = {
    1: _first_analyser,
    **dict.fromkeys(range(2, analysis.VERSION + 1), english),
}
"""Indexes of versions 2 and 3 lack some terms of this one: words with hyphens, powers, words behind an escape."""

FIRST = IndexVersion(1, 1, ("english",))
"""The version of indexes that recorded none."""


def current_version(languages: Sequence[str] = ()) -> IndexVersion:
    """Return the version of a new index with these languages."""
    return IndexVersion(FORMAT, analysis.VERSION, tuple(languages))


def recorded(folder: Path) -> IndexVersion | None:
    """Return the version of the index in ``folder``; None if there is no index yet.

    Raises:
        IndexCorrupt: the record cannot be read.
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
    """Return the version of the index in ``folder``; record the current version if there is no index.

    ``languages``: for a new index.

    Raises:
        IndexTooNew: a newer Pinakes built the index.
        IndexCorrupt: the record cannot be read, or names an unknown analyser.
        StorageFull: the record cannot be written.
    """
    found = recorded(folder)
    if found is None:
        found = current_version(languages)
        with storing("The search index"):
            make_private(folder)
            _write(folder / FILE, checksums.sealed(asdict(found)))
    check(found)
    if found.analyser not in _ANALYSERS:
        raise IndexCorrupt(
            f"The search index was built by analyser {found.analyser}, which is not there any more.",
            hint="Rebuild it: pinakes reindex",
        )
    return found


def position(folder: Path) -> int:
    """Return the last change whose words are in the index in ``folder``, 0 if unknown."""
    try:
        texts = [(folder / name / "position.json").read_text("utf-8") for name in _KEYWORD_FOLDERS]
        found = list(map(checksums.unsealed, texts))
        return min(int(one["position"]) for one in found)
    except (OSError, ValueError, KeyError, TypeError):
        return 0


def check(version: IndexVersion) -> None:
    """Check that an index is not newer than this Pinakes.

    Raises:
        IndexTooNew: a newer Pinakes built it.
    """
    if version.is_newer:
        raise IndexTooNew(
            f"The search index was built by a newer Pinakes ({version}; this one knows up to format {FORMAT}, "
            f"analyser {analysis.VERSION}).",
            hint="Update Pinakes. The index was not changed.",
        )


def analyzer_of(version: IndexVersion) -> Analysis:
    """Return the analyser that produced the terms of an index."""
    return _ANALYSERS[version.analyser]()


def _number(value: Any) -> int:
    if type(value) is not int or value < 1:
        raise ValueError(f"{value!r} is no version")
    return value


def _languages(value: Sequence[Any]) -> tuple[str, ...]:
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise ValueError(f"{value!r} are no languages")
    return tuple(value)


def _write(path: Path, text: str) -> None:
    """Write a file atomically, and sync it to disk before anything of the index."""
    temporary = path.with_name(f"{path.name}.{os.getpid()}.tmp")
    with temporary.open("w", encoding="utf-8") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    temporary.replace(path)
