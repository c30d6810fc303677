"""``python -m benchmarks.quality.fidelity FILES TEXTS``: how many words of files are in their texts, per format.

``TEXTS`` has the text of each file as another reader gives it, under the file's name with ``.txt`` appended. Words are
letters and digits, folded, each as often as it occurs. Lost: of the other reader's words, those that ours lacks;
added: of our words, those that the other reader lacks. The worst files are named below.

``--apart`` leaves out of what is added the words of parts of Office and OpenDocument files that many readers skip:
headers, footers, notes, comments, charts, diagrams, drawings, forms and the title. ``--noise`` leaves out of the other
text what its reader writes of its own, such as numbers of slides.
"""

from __future__ import annotations

import argparse
import io
import re
import time
import unicodedata
import zipfile
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import mean
from typing import NamedTuple

from pinakes.core.errors import PinakesError
from pinakes.parsing import read

MAX_CHARS = 20_000_000
_WORD = re.compile(r"[^\W_]+")
_UNSEEN = re.compile("[\u00ad\u200b-\u200f\u2060\ufeff]")
_ADDRESS = re.compile(r"\]\([^()\s]*(?: \"[^\"]*\")?\)|(?:https?://|mailto:)[^\s<>()\]]+")

_APART = re.compile(
    r"(?:header|footer|footnotes|endnotes|comment|chart|diagrams/data|notesSlide|drawing|core|styles)[^/]*\.xml$"
    r"|(?:charts?|comments|Object \d+)/[^/]*\.xml$|^meta\.xml$",
    re.IGNORECASE,
)
_MARKUP = re.compile(r"<[^<>]*>")


class Compared(NamedTuple):
    """The shares of words of one file that are kept and that are there in the other text; processor time in s."""

    path: Path
    kept: float
    shared: float
    lost: Counter[str]
    seconds: float


def words_of(text: str) -> Counter[str]:
    """Return how often each word occurs in a text, without addresses of links."""
    plain = _ADDRESS.sub(" ", _UNSEEN.sub("", unicodedata.normalize("NFKC", text)))
    return Counter(_WORD.findall(plain.casefold()))


def words_apart(data: bytes) -> Counter[str]:
    """Return the words of the parts of an Office file that many readers skip; none of other files."""
    if not data.startswith(b"PK"):
        return Counter()
    with zipfile.ZipFile(io.BytesIO(data)) as package:
        parts = [package.read(name).decode("utf-8", "replace") for name in package.namelist() if _APART.search(name)]
    return words_of("\n".join(_MARKUP.sub(" ", part) for part in parts))


def compared(files: Path, texts: Path, noise: str = "", *, apart: bool = False) -> Iterator[Compared]:
    """Yield the comparison of each file that has a text of another reader; prints what cannot be read."""
    for path in sorted(one for one in files.rglob("*") if one.is_file()):
        other = texts / f"{path.relative_to(files)}.txt"
        if not other.is_file():
            continue
        begin = time.process_time()
        try:
            document = read(data := path.read_bytes(), path.name, max_chars=MAX_CHARS)
        except PinakesError as error:
            print(f"{path.relative_to(files)}: {error}")
            continue
        seconds = time.process_time() - begin
        text = other.read_text("utf-8", "replace")
        ours, theirs = (
            words_of(f"{document.title}\n{document.text}"),
            words_of(re.sub(noise, " ", text) if noise else text),
        )
        if not theirs:
            continue
        if apart:
            ours -= (ours - theirs) & (words_apart(data) + words_of(document.title))
        both = (ours & theirs).total()
        yield Compared(path, both / max(theirs.total(), 1), both / max(ours.total(), 1), theirs - ours, seconds)


def main() -> None:
    """Compare the texts and print a row per format."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", type=Path, help="folder of files")
    parser.add_argument("texts", type=Path, help="folder of their texts, as FILE.txt")
    parser.add_argument("--worst", type=int, default=5, help="number of files to name (default 5)")
    parser.add_argument("--apart", action="store_true", help="leave out words of parts that many readers skip")
    parser.add_argument("--noise", default="", help="a pattern of what the other reader writes of its own")
    chosen = parser.parse_args()
    groups: defaultdict[str, list[Compared]] = defaultdict(list)
    for one in compared(chosen.files, chosen.texts, chosen.noise, apart=chosen.apart):
        groups[one.path.suffix.lower()].append(one)
    print("| format | files | their words in ours | our words in theirs | s |\n| --- | --- | --- | --- | --- |")
    for suffix, found in sorted(groups.items()):
        kept, shared = mean(one.kept for one in found), mean(one.shared for one in found)
        print(f"| {suffix} | {len(found)} | {kept:.3f} | {shared:.3f} | {sum(one.seconds for one in found):.1f} |")
    for one in sorted((one for found in groups.values() for one in found), key=lambda one: one.kept)[: chosen.worst]:
        print(f"{one.kept:.3f} {one.path.name}: {' '.join(word for word, _ in one.lost.most_common(20))}")


if __name__ == "__main__":
    main()
