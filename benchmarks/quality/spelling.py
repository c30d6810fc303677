"""``python -m benchmarks.quality.spelling [SET …]``: what a typing error costs, and what correction brings back.

One word of six letters or more of every golden question gets one edit (seeded). nDCG@10 of the questions as they are,
misspelt, and misspelt but corrected; how often the right word is proposed and put in; and what would be said of, or
done to, questions without an error. Homes are those of ``python -m benchmarks.quality``; copies of them are used.
"""

from __future__ import annotations

import argparse
import random
import re
import shutil
import string
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from statistics import median

from benchmarks.quality.sets import ROOT, QuestionSet, asker, available
from pinakes.core import ports
from pinakes.core.ports import Lexicon
from pinakes.core.records import SearchMode
from pinakes.evaluation.questions import Question
from pinakes.evaluation.run import evaluate
from pinakes.library import Library
from pinakes.search.query.spelling import MissingWord, corrected, missing
from pinakes.text.analysis import STOP_WORDS

SETS = ("keps", "handbook")
MODES: tuple[SearchMode, ...] = ("keyword", "hybrid")
DEPTH = 100
_WORD = re.compile(r"(?<![\w.'-])[a-zA-Z]{6,}(?![\w'-])")


@dataclass(frozen=True)
class Misspelt:
    """A question with one wrong word: which, and what it was."""

    question: Question
    right: str
    wrong: str


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", default=list(SETS), help="names of sets")
    parser.add_argument("--work", type=Path, default=ROOT / "benchmarks" / "results" / "quality")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--seeds", type=int, default=3, help="so many seeds one after the other")
    arguments = parser.parse_args()
    for one in available():
        if one.name in arguments.sets:
            measure(one, arguments.work, range(arguments.seed, arguments.seed + arguments.seeds))


def measure(one: QuestionSet, work: Path, seeds: Sequence[int]) -> None:
    """Print the figures of a set, all seeds together."""
    questions = [question for question in one.golden().questions if question.relevant]
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        shutil.copytree(work / "homes" / one.home, home)
        with Library.open(home, profile=one.profile or None, search__max_top_k=DEPTH) as library:
            lexicon = lexicon_of(library)
            look = partial(missing, lexicon=lexicon)
            wrong = [misspelt for seed in seeds for misspelt in misspell(questions, random.Random(seed))]
            found = [(one_wrong, look(one_wrong.question.text)) for one_wrong in wrong]
            noticed(one.name, found, look, questions)
            mended = [replace(w.question, text=corrected(w.question.text, said)) for w, said in found]
            original = {question.id: question for question in questions}
            asked = {
                "as written": [original[w.question.id] for w in wrong],
                "misspelt": [w.question for w in wrong],
                "corrected": mended,
            }
            for mode in MODES:
                ask = partial(asker(one, library), library, mode)
                values = {name: evaluate(ask, those).metrics["ndcg@10"] for name, those in asked.items()}
                print(f"  {mode:<8} nDCG@10 " + "  ".join(f"{name} {value:.4f}" for name, value in values.items()))


def misspell(questions: Sequence[Question], chance: random.Random) -> list[Misspelt]:
    """Return the questions that have a word of six letters or more, with one edit in one of these."""
    found = []
    for question in questions:
        words = [match for match in _WORD.finditer(question.text) if match.group().lower() not in STOP_WORDS]
        if words:
            at = chance.choice(words)
            wrong = edited(at.group(), chance)
            text = question.text[: at.start()] + wrong + question.text[at.end() :]
            found.append(Misspelt(replace(question, text=text), at.group(), wrong))
    return found


def edited(word: str, chance: random.Random) -> str:
    """Return ``word`` with a letter left out, put in, replaced, or swapped with the next."""
    while True:
        at, letter = chance.randrange(len(word) - 1), chance.choice(string.ascii_lowercase)
        before, here, after = word[:at], word[at], word[at + 1 :]
        edits = (
            before + after,
            before + here + letter + after,
            before + letter + after,
            before + after[0] + here + after[1:],
        )
        wrong = chance.choice(edits)
        if wrong != word:
            return wrong


def lexicon_of(library: Library) -> Lexicon:
    """Return the words of a library's only collection."""
    _, index = library.app.index(library.chosen())
    words = ports.lexicon_of(index)
    assert words is not None
    return words


def noticed(
    name: str, found: Sequence[tuple[Misspelt, Sequence[MissingWord]]], look: object, questions: Sequence[Question]
) -> None:
    """Print how often the wrong word was noticed, proposed rightly and replaced rightly, and the false alarms."""
    assert callable(look)
    counts = dict.fromkeys(("noticed", "first", "among three", "replaced", "replaced rightly"), 0)
    for misspelt, said in found:
        for one in said:
            if one.word == misspelt.wrong:
                near = [candidate.word for candidate in one.near]
                counts["noticed"] += 1
                counts["first"] += near[:1] == [misspelt.right.lower()]
                counts["among three"] += misspelt.right.lower() in near
                counts["replaced"] += one.sure
                counts["replaced rightly"] += one.sure and near[0] == misspelt.right.lower()
                if one.sure and near[0] != misspelt.right.lower():
                    print(f"    {misspelt.right} misspelt {one.word} became {near[0]}")
    alarms = {question.text: look(question.text) for question in questions}
    times = []
    for misspelt, _ in found:
        start = time.perf_counter()
        look(misspelt.question.text)
        times.append((time.perf_counter() - start) * 1000)
    print(f"{name}: {len(found)} misspelt questions: " + ", ".join(f"{what} {count}" for what, count in counts.items()))
    print(f"  looking takes {median(times):.2f} ms in the middle, {max(times):.2f} at most")
    said = [one for every in alarms.values() for one in every]
    print(
        f"  of {len(alarms)} questions as written: {len(said)} words missing, {sum(one.sure for one in said)} replaced"
    )
    for one in said:
        print(f"    {one.note}{' (replaced)' if one.sure else ''}")


if __name__ == "__main__":
    main()
