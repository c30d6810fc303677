"""What a damaged index does: one byte is changed at a random place of each file of the index, again and again.

Each time either ``verify`` tells, or the index is built anew, or every answer is the one that it was before. Run with
``python -m benchmarks.damage --flips 200``; the last line is a JSON document with the counts.
"""

from __future__ import annotations

import argparse
import json
import logging
import random
import shutil
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pinakes.core.errors import PinakesError
from pinakes.library import Library

_WORDS = (
    "heron kingfisher otter salmon lantern granite harbour valley engine ledger orchard violin compass thunder marble "
    "falcon meadow anchor copper lattice prairie glacier beacon cinder hollow juniper saffron tundra willow quarry"
).split()
QUESTIONS = (
    "heron salmon",
    "granite harbour valley",
    '"violin compass"',
    "kingfishers",
    "ledger of the orchard",
    "find_heron",
    "thunder marble falcon",
    "meadow",
)
_MODES: tuple[Any, ...] = ("keyword", "vector", "hybrid")
_DEPTH = 50
_QUIET = ("search__refine_ms", 0), ("audit__enabled", False), ("search__remembered_answers", 0)


@dataclass(slots=True)
class Outcome:
    """How often damage was told, mended or harmless; ``missed``: (file, place, bit) of what was none of these."""

    counts: Counter[str] = field(default_factory=Counter)
    missed: list[tuple[str, int, int]] = field(default_factory=list)


def make(home: Path, documents: Path, **settings: Any) -> None:
    """Make a home whose index has several segments, deleted documents among them, and snapshots of vectors."""
    chance = random.Random(4)
    documents.mkdir()
    for number in range(24):
        _write(documents / f"note{number:02}.md", chance)
    (documents / "code.py").write_text("def find_heron(salmon):\n    return salmon\n", "utf-8")
    with opened(home, **settings) as library:
        library.add(str(documents))
        for number in (3, 7):
            _write(documents / f"note{number:02}.md", chance)
            library.sync()
        (documents / "note11.md").unlink()
        library.sync()


def _write(file: Path, chance: random.Random) -> None:
    parts = [" ".join(chance.choices(_WORDS, k=60)) + "." for _ in range(4)]
    file.write_text("\n\n".join([f"# {chance.choice(_WORDS)} {file.stem}", *parts]), "utf-8")


@contextmanager
def opened(home: Path, **settings: Any) -> Iterator[Library]:
    """Open a home so that searches leave it as it is."""
    with Library.open(home, **{**dict(_QUIET), **settings}) as library:
        yield library


def answers(library: Library) -> list[Any]:
    """Return what the questions find, with all scores."""
    return [
        [(hit.chunk_id, round(hit.score, 6)) for hit in library.rank(question, mode=mode, depth=_DEPTH).hits]
        for question in QUESTIONS
        for mode in _MODES
    ]


def index_files(home: Path) -> list[str]:
    """Return the files of all indexes of a home that have a byte to change, relative to it."""
    found = (path for path in (home / "index").rglob("*") if path.is_file() and path.stat().st_size)
    return sorted(path.relative_to(home).as_posix() for path in found)


def attack(pristine: Path, work: Path, flips: int, seed: int, **settings: Any) -> dict[str, Outcome]:
    """Change one bit of each index file ``flips`` times, each time of an undamaged copy made in ``work``.

    Return file → what happened.
    """
    chance = random.Random(seed)
    with opened(pristine, **settings) as library:
        right = answers(library)
        clean = library.verify()
    if any(clean.values()):
        raise ValueError(f"it differs undamaged: {clean}")
    rebuilt = _rebuilt(pristine, work, settings)
    found: dict[str, Outcome] = {}
    for name in index_files(pristine):
        outcome = found[name] = Outcome()
        size = (pristine / name).stat().st_size
        for _ in range(flips):
            place, bit = chance.randrange(size), chance.randrange(8)
            with _copied(pristine, work) as home:
                data = bytearray((home / name).read_bytes())
                data[place] ^= 1 << bit
                (home / name).write_bytes(data)
                what = _met(home, right, rebuilt, settings)
            outcome.counts[what] += 1
            if what == "missed":
                outcome.missed.append((name, place, bit))
    return found


@contextmanager
def _copied(home: Path, work: Path) -> Iterator[Path]:
    """Give a copy of a home in the folder ``work``, another one each time."""
    with tempfile.TemporaryDirectory(dir=work, ignore_cleanup_errors=True) as folder:
        yield Path(shutil.copytree(home, Path(folder, "home")))


class _Warnings(logging.Handler):
    def __init__(self) -> None:
        super().__init__(logging.WARNING)
        self.seen = False

    def emit(self, record: logging.LogRecord) -> None:
        self.seen |= record.name.startswith("pinakes")


def _rebuilt(pristine: Path, work: Path, settings: dict[str, Any]) -> list[Any]:
    """Return the answers of an index that was built anew: documents that were deleted do not count in its scores."""
    with _copied(pristine, work) as home, opened(home, **settings) as library:
        library.reindex()
        return answers(library)


def _met(home: Path, right: list[Any], rebuilt: list[Any], settings: dict[str, Any]) -> str:
    """Say what becomes of a damaged home: it is told, mended with a warning, harmless, or missed."""
    warnings = _Warnings()
    logging.getLogger().addHandler(warnings)
    try:
        with opened(home, **settings) as library:
            if any(library.verify().values()):
                return "told"
            found = answers(library)
            if warnings.seen and found in (right, rebuilt):
                return "mended"
            return "harmless" if found == right else "missed"
    except PinakesError:
        return "told"
    finally:
        logging.getLogger().removeHandler(warnings)


def main(arguments: Sequence[str]) -> int:
    """Attack a home that is made for it; return 1 where anything was missed."""
    parser = argparse.ArgumentParser(prog="benchmarks.damage", description=__doc__)
    parser.add_argument("--flips", type=int, default=200, help="how often each file is changed")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--approximate", action="store_true", help="with the default model and approximate vectors")
    given = parser.parse_args(arguments)
    logging.getLogger("pinakes").propagate = True
    logging.lastResort = None
    settings: dict[str, Any] = {"embedding__provider": "deterministic", "embedding__mode": "full"}
    if given.approximate:
        settings = {"embedding__mode": "lazy", "embedding__progressive_chunks": 20, "embedding__sample_chunks": 20}
    with tempfile.TemporaryDirectory(prefix="pinakes-damage-") as folder:
        root = Path(folder)
        make(root / "home", root / "documents", **settings)
        (root / "work").mkdir()
        found = attack(root / "home", root / "work", given.flips, given.seed, **settings)
    total: Counter[str] = Counter()
    for name, outcome in found.items():
        print(f"{name}: {dict(outcome.counts)}", *outcome.missed)
        total += outcome.counts
    print(json.dumps({"files": len(found), "flips": given.flips, **total}))
    return 1 if total["missed"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
