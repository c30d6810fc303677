"""``python -m benchmarks.quality.several [SET …]``: what a set loses beside three collections about something else.

Every question is asked without naming a collection: of its own one alone, then of that and three others, ten chunks
being shown: nDCG@10 of documents, those of the others being wrong. The others have the model of the own one; another
model (the same in another precision, so another fingerprint, which the product does not compare); no vectors yet, so
that words alone find their chunks; or one of each. Then, with ``--times``, what one question costs with one collection
and with five, one after the other in one process; no process is asked the same question twice with the same caches.

The collections are taken into one home below ``--joint`` from the homes of ``python -m benchmarks.quality``, as they
are; what is there already is used again.
"""

from __future__ import annotations

import argparse
import json
import time
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from benchmarks.quality.__main__ import RESULTS
from benchmarks.quality.sets import QuestionSet, available
from benchmarks.speed.machine import spread
from pinakes.core.caller import Caller, calling
from pinakes.core.records import Results
from pinakes.evaluation import names
from pinakes.evaluation.metrics import metric
from pinakes.evaluation.names import DocumentNames
from pinakes.evaluation.questions import Question
from pinakes.library import Library

NDCG = metric("ndcg@10")
MOST = 10
BESIDE = 3
MOST_COLLECTIONS = 5
NEAR = {"keps": "k8s-docs-qa", "k8s-docs-qa": "keps"}
"""Sets whose documents are about the same."""

OTHER_MODEL, WITHOUT_VECTORS = "-fp32", "-words"
"""What the names of collections end with that differ from the set's own one."""

KINDS = ("", OTHER_MODEL, WITHOUT_VECTORS)


@dataclass(frozen=True)
class Way:
    """The kinds of the own collection and of the three others."""

    name: str
    others: tuple[str, ...]
    own: str = ""


WAYS = (
    Way("same model", ("", "", "")),
    Way("other model", (OTHER_MODEL,) * BESIDE),
    Way("without vectors", (WITHOUT_VECTORS,) * BESIDE),
    Way("one of each", KINDS),
    Way("own without", ("", "", ""), own=WITHOUT_VECTORS),
)


@dataclass(frozen=True)
class Subject:
    """A set and what its questions call the documents of its collections of each kind."""

    set: QuestionSet
    names: Mapping[str, DocumentNames]
    questions: Sequence[Question]

    def score(self, found: Results, question: Question, kind: str) -> float:
        """Return nDCG@10 of an answer; documents of other collections have names of their own."""
        called, own = self.names[kind], self.set.name + kind
        ranking = (
            called.name_of(hit.document_id, question.relevant)
            if hit.collection == own
            else f"{hit.collection}/{hit.document_id}"
            for hit in found.hits
        )
        return NDCG(list(dict.fromkeys(ranking)), question.relevant)


def main() -> None:
    arguments = _arguments()
    sets = [one for one in available() if not one.corpus and (arguments.work / "homes" / one.home).is_dir()]
    with Library.open(arguments.joint) as library:
        for one in sets:
            _take_in(library, one, arguments)
    with Library.open(arguments.joint) as library:
        every = {one.name: _subject(library, one, arguments.most) for one in sets}
        print(f"{'set':<13}{'questions':>9}{'alone':>8}" + "".join(f"{way.name:>18}" for way in WAYS))
        for name in arguments.sets or every:
            _show(library, every[name], _others(every, name, BESIDE))
    if arguments.times:
        _show_times(arguments.joint, every, arguments.times)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("sets", nargs="*", help="names of sets; none = all whose data is there")
    parser.add_argument("--work", type=Path, default=RESULTS / "quality", help="where the homes are")
    parser.add_argument("--joint", type=Path, default=RESULTS / "several", help="the home of all collections")
    parser.add_argument("--most", type=int, default=0, help="questions of a set, evenly taken; 0 = all")
    parser.add_argument("--times", type=int, default=0, help="questions of each set that are timed")
    return parser.parse_args()


def _take_in(library: Library, one: QuestionSet, arguments: argparse.Namespace) -> None:
    """Import the collection of a set, of each kind, unless it is there."""
    missing = [kind for kind in KINDS if one.name + kind not in library.naming.visible()]
    if not missing:
        return
    archive, other = (arguments.joint / f"{one.name}{kind}.zip" for kind in ("", OTHER_MODEL))
    with Library.open(arguments.work / "homes" / one.home, profile=one.profile or None) as source:
        source.exchange.export(source.collection().name, archive, force=True)
    _rename_model(archive, other)
    for kind in missing:
        file, anew = other if kind == OTHER_MODEL else archive, kind == WITHOUT_VECTORS
        library.exchange.take_in(file, one.name + kind, sources=False, embed_anew=anew)
    archive.unlink()
    other.unlink()


def _rename_model(archive: Path, other: Path) -> None:
    """Copy an archive, with the same vectors said to be by the same model in its other precision."""
    with zipfile.ZipFile(archive) as given, zipfile.ZipFile(other, "w") as made:
        for member in given.namelist():
            content = given.read(member)
            if member == "manifest.json":
                about = json.loads(content)
                model = about["collection"]["model"]
                before = model["settings"]["precision"]
                model["settings"]["precision"] = after = "int8" if before == "fp32" else "fp32"
                model["fingerprint"] = model["fingerprint"].replace(f"/{before}/", f"/{after}/")
                content = json.dumps(about).encode()
            made.writestr(member, content)


def _subject(library: Library, one: QuestionSet, most: int) -> Subject:
    questions = [question for question in one.golden().questions if question.answerable]
    questions = questions[:: -(-len(questions) // most) if most else 1]
    relevant = [document for question in one.golden().questions for document in question.relevant]
    with library.app.catalog.read() as connection:
        called = {
            kind: names.resolve(connection, library.collection(one.name + kind).id, relevant)
            for kind in {way.own for way in WAYS}
        }
    return Subject(one, called, questions)


def _others(every: Mapping[str, Subject], name: str, most: int) -> list[str]:
    """Return the names of the sets that follow ``name``, without the one about the same."""
    after = [*every].index(name)
    return [one for one in [*every][after + 1 :] + [*every][:after] if one != NEAR.get(name)][:most]


def _show(library: Library, own: Subject, others: Sequence[str]) -> None:
    alone = {kind: _mean(library, own, [], kind) for kind in {way.own for way in WAYS}}
    print(f"{own.set.name:<13}{len(own.questions):>9}{alone['']:>8.3f}", end="", flush=True)
    for way in WAYS:
        value = _mean(library, own, [one + kind for one, kind in zip(others, way.others, strict=True)], way.own)
        print(f"{value:>9.3f} ({value - alone[way.own]:+.3f})", end="", flush=True)
    print()


def _mean(library: Library, own: Subject, others: Sequence[str], kind: str) -> float:
    with _only(own.set.name + kind, *others):
        return fmean(own.score(library.search(one.text, top_k=MOST), one, kind) for one in own.questions)


@contextmanager
def _only(*collections: str) -> Iterator[None]:
    """Ask as one who may use only these ``collections``, so that a question without a name goes to all of them."""
    with calling(Caller(collections=collections)):
        yield


def _show_times(joint: Path, every: Mapping[str, Subject], most: int) -> None:
    """Time questions with one collection and with five, in turn; each half of them first with the one or the other."""
    seconds: dict[bool, list[float]] = {False: [], True: []}
    processor: dict[bool, list[float]] = {False: [], True: []}
    for turn in (0, 1):
        with Library.open(joint) as library:
            for name, own in every.items():
                places = {False: [name], True: [name, *_others(every, name, MOST_COLLECTIONS - 1)]}
                texts = [question.text for question in own.questions[:: max(1, len(own.questions) // most)][:most]]
                for number, text in enumerate(["what is this about", "how is it done", *texts]):
                    several = number % 2 == turn
                    with _only(*places[several]):
                        began, used = time.perf_counter(), time.process_time()
                        library.search(text, top_k=MOST)
                        took, used = time.perf_counter() - began, time.process_time() - used
                    if number > 1:  # the first ones open the indexes
                        seconds[several].append(took)
                        processor[several].append(used)
    print(f"\n{'collections':<13}{'questions':>9}{'p50 ms':>9}{'p95 ms':>9}{'processor ms, p50':>20}{'p95':>8}")
    for several, label in ((False, "one"), (True, "five")):
        times, work = spread(seconds[several]), spread(processor[several])
        print(
            f"{label:<13}{times.count:>9}{times.p50_ms:>9.1f}{times.p95_ms:>9.1f}{work.p50_ms:>20.1f}{work.p95_ms:>8.1f}"
        )
    one, five = spread(seconds[False]), spread(seconds[True])
    print(f"five / one: p50 {five.p50_ms / one.p50_ms:.2f}, p95 {five.p95_ms / one.p95_ms:.2f}")


if __name__ == "__main__":
    main()
