"""Other ways to cut a collection, tried in a copy of its home that is gone afterwards."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from pinakes.core.errors import storing
from pinakes.core.records import SearchMode
from pinakes.evaluation.metrics import Metric
from pinakes.evaluation.questions import Question
from pinakes.evaluation.tuning import chunk_sizes
from pinakes.evaluation.tuning.ascent import Scores
from pinakes.evaluation.tuning.findings import Speed
from pinakes.evaluation.tuning.knobs import Knob, Point, applied
from pinakes.evaluation.tuning.trials import Trials, TuningSubject
from pinakes.library import Library, OnEvent
from pinakes.settings import Settings

_SAMPLE = 32
_WHAT = "A copy of the catalogue"


def seconds(library: Library, name: str, knob: Knob) -> float:
    """Return about how long it takes to try all that ``knob`` can be set to, what is set now aside."""
    parts = library.parts(name)
    held = parts.index.contents()["keyword"]
    some = held[:: max(1, len(held) // _SAMPLE)][:_SAMPLE].tolist()
    sample = [text for _, _, text in library.measuring.embedded(some)]
    tokens = library.status(name)[0].tokens
    return chunk_sizes.seconds(knob.choices[1:], tokens, sample, library.measuring.embedder_of(parts.collection))


@contextmanager
def copied(library: Library) -> Iterator[Path]:
    """Give a folder with a copy of the library's catalogue and of what its sources fetched.

    Raises:
        StorageFull: there is no room for it among the temporary files.
    """
    home = library.settings.home
    with storing(_WHAT):
        temporary = tempfile.TemporaryDirectory(prefix="pinakes-tune-", ignore_cleanup_errors=True)
    with temporary as folder:
        copy = Path(folder)
        with storing(_WHAT):
            library.measuring.copy_catalog(copy / "catalog.db", _WHAT)
            if (home / "sources").is_dir():
                shutil.copytree(
                    home / "sources", copy / "sources", symlinks=True, ignore=shutil.ignore_patterns("*.lock")
                )
        yield copy


class Recut:
    """Scores ways of cutting on ``questions``: reads the collection's sources again and embeds what is new."""

    def __init__(
        self,
        home: Path,
        settings: Settings,
        name: str,
        by: str | None,
        mode: SearchMode,
        questions: Sequence[Question],
        metric: Metric,
        on_event: OnEvent,
    ) -> None:
        embedding = settings.embedding.model_copy(update={"mode": "full"})
        self._settings = settings.model_copy(update={"home": home, "embedding": embedding})
        self._name = name
        self._by = by
        self._mode = mode
        self._questions = questions
        self._metric = metric
        self._on_event = on_event
        self._answer_ms: dict[Point, float] = {}
        self.milliseconds: dict[Point, float] = {}

    def score(self, point: Point) -> Scores:
        """Return the metric of every question, with the collection cut by the settings of ``point``.

        Raises:
            SourceError, NotFound: a source cannot be read any more.
        """
        with Library(applied(self._settings, point, self._name)) as library:
            for report in library.sync(self._name, self._on_event):
                if report.error is not None:
                    raise report.error
            parts = library.parts(self._name)
            relevant = [document for question in self._questions for document in question.relevant]
            called = library.measuring.resolve(parts.collection.id, relevant, self._by)
            trials = Trials(TuningSubject.from_context(parts, called, self._mode), self._questions, self._metric)
            scores = trials.score(())
            self.milliseconds[point] = trials.milliseconds[()]
            self._answer_ms[point] = trials.answer_ms()
        return scores

    def speed(self, point: Point) -> Speed:
        """Return the median times of answers that were taken when each was scored."""
        return Speed(self._answer_ms[()], self._answer_ms[point])
