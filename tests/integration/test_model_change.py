"""Another model is built beside the one that answers, then switched to, and back; nothing is ever mixed."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from bert_reference import make_tiny_bert
from filelock import FileLock
from named_embedder import NamedEmbedder
from progressive_support import StoppedError, stop_at, write_folder
from small_disk import small_file_system
from sqlalchemy import select

from pinakes.app.collection_models import recorded
from pinakes.catalog.schema import embeddings, models
from pinakes.core.errors import (
    Busy,
    InvalidInput,
    InvalidSetting,
    ModelMismatch,
    ModelUnavailable,
    NotFound,
    StorageFull,
)
from pinakes.core.records import Results
from pinakes.ingestion.report import Event
from pinakes.library import Library
from pinakes.models.embedders import EMBEDDERS
from pinakes.services.collections.status import CollectionStatus

Open = Callable[..., Library]
Answer = tuple[tuple[str, int, float], ...]

OLD, NEW = "old/32", "new/48"
BATCH = 16
NAMES = [f"file{number}" for number in range(12)]
QUERIES = ("quick brown fox", "lazy dog", "search engines index every word", "file7")


@pytest.fixture
def named(open_library: Open, monkeypatch: pytest.MonkeyPatch) -> Open:
    monkeypatch.setitem(EMBEDDERS, "named", "named_embedder:NamedEmbedder")
    usual = {"embedding__provider": "named", "embedding__model": OLD, "embedding__mode": "full"}
    return lambda **more: open_library(**usual | {"ingest__batch_chunks": BATCH, "chunking__size": 40} | more)


@pytest.fixture
def folder(docs: Path) -> Path:
    return write_folder(docs, NAMES)


@pytest.fixture
def filled(named: Open, folder: Path) -> Library:
    library = named()
    library.add(str(folder))
    return library


@pytest.fixture
def built(filled: Library) -> Library:
    filled.build_beside(NEW)
    return filled


@pytest.fixture
def beside(built: Library) -> Iterator[Library]:
    """Another handle on the same home, as another process has."""
    with Library(built.settings) as library:
        yield library


def answer(found: Results) -> Answer:
    return tuple((hit.path, hit.chunk_index, hit.score) for hit in found.hits)


def answers(library: Library, **how: Any) -> list[Answer]:
    return [answer(library.search(query, mode=mode, **how)) for query in QUERIES for mode in ("hybrid", "vector")]


def by_meaning(library: Library) -> list[Answer]:
    """Return answers that the history of an index has no part in; the weight of a word knows of removed chunks."""
    return [answer(library.search(query, mode="vector")) for query in QUERIES]


def embedder(library: Library, *, of_beside: bool = False) -> NamedEmbedder:
    app = library.app
    found = app.embedder_of(app.beside("default") if of_beside else app.record("default"))
    assert isinstance(found, NamedEmbedder)
    return found


def directly(tmp_path: Path, folder: Path, model: str, settings: Library) -> list[Answer]:
    """Return the answers by words and by meaning of a home that never knew another model."""
    embedding = settings.settings.embedding.model_copy(update={"model": model})
    changed = {"home": tmp_path / f"direct-{model.partition('/')[0]}", "embedding": embedding}
    with Library(settings.settings.model_copy(update=changed)) as library:
        library.add(str(folder))
        return answers(library)


def directly_by_meaning(tmp_path: Path, folder: Path, model: str, settings: Library) -> list[Answer]:
    return directly(tmp_path, folder, model, settings)[1::2]


def sound(library: Library) -> bool:
    return not any(library.verify().values()) and all(state.pending == 0 for state in library.status())


def index_folders(home: Path) -> list[str]:
    return sorted(path.name for path in (home / "index").iterdir() if path.is_dir())


def model_of(found: Results) -> object:
    """Return the model that embedded the question of an answer."""
    return next(stage.detail["model"] for stage in found.trace.stages if stage.name == "embed")


class TestBuilding:
    def test_what_answers_goes_on_answering(self, filled: Library) -> None:
        before, during = answers(filled), []
        filled.build_beside(NEW, on_event=lambda _: during.append(answers(filled)))
        assert len(during) > 3
        assert all(found == before for found in [*during, answers(filled)])
        assert filled.status()[0].model == "named/old/32"

    def test_the_status_tells_how_far_it_is(self, filled: Library) -> None:
        assert filled.status()[0].beside is None
        with pytest.raises(StoppedError):
            filled.build_beside(NEW, on_event=stop_at("embed", 2))
        half = filled.status()[0].beside
        assert half is not None
        assert (half.model, half.state) == ("named/new/48", "embedding")
        assert 0 < half.embedded < half.chunks
        assert half.share == pytest.approx(half.embedded / half.chunks, abs=1e-4)
        ready = filled.build_beside().beside
        assert ready is not None
        assert (ready.state, ready.waiting, ready.share) == ("ready", 0, 1.0)
        assert ready.bytes > ready.chunks * 48 * 2

    def test_the_one_beside_can_be_asked_without_switching(self, built: Library, folder: Path, tmp_path: Path) -> None:
        assert answers(built, generation="beside") == directly(tmp_path, folder, NEW, built)
        assert answers(built) == directly(tmp_path, folder, OLD, built)
        assert answers(built) != answers(built, generation="beside")

    @pytest.mark.parametrize("stage", ["scan", "embed", "index"])
    def test_a_stopped_build_goes_on_and_embeds_nothing_twice(self, named: Open, folder: Path, stage: str) -> None:
        library = named()
        library.add(str(folder))
        chunks = library.status()[0].chunks
        with pytest.raises(StoppedError):
            library.build_beside(NEW, on_event=stop_at(stage))
        first = list(embedder_texts(library))
        library = named()
        library.build_beside(NEW)
        second = list(embedder_texts(library))
        assert len({*first, *second}) == chunks
        assert len({*first} & {*second}) <= (BATCH if stage == "embed" else 0), "only the batch in flight is lost"
        library.switch()
        assert sound(library)

    def test_an_index_that_was_left_damaged_is_begun_anew(self, filled: Library, home: Path, named: Open) -> None:
        before = index_folders(home)
        with pytest.raises(StoppedError):
            filled.build_beside(NEW, on_event=stop_at("index"))
        [fresh] = set(index_folders(home)) - set(before)
        (home / "index" / fresh / "keyword" / "meta.json").write_text("{")
        library = named()
        library.build_beside()
        library.switch()
        assert sound(library)

    @pytest.mark.parametrize("stage", ["embed", "index"])
    def test_a_model_that_was_moved_meanwhile_is_used_where_it_is_now(
        self, filled: Library, named: Open, tmp_path: Path, stage: str
    ) -> None:
        before, now = make_tiny_bert(tmp_path / "before" / "tiny"), tmp_path / "now" / "tiny"
        with pytest.raises(StoppedError):
            filled.build_beside(str(before), anyway=True, on_event=stop_at(stage))
        now.parent.mkdir()
        before.rename(now)
        library = named()
        with pytest.raises(ModelUnavailable, match="before"):
            library.build_beside(anyway=True)
        assert ready(library.build_beside(str(now), anyway=True))
        library.switch()
        assert named().search("quick brown fox", mode="vector").hits

    def test_it_needs_no_name_of_the_model_to_go_on(self, filled: Library) -> None:
        with pytest.raises(StoppedError):
            filled.build_beside(NEW, on_event=stop_at("embed"))
        ready = filled.build_beside().beside
        assert ready is not None
        assert (ready.model, ready.state) == ("named/new/48", "ready")

    def test_the_model_of_the_settings_is_built_where_none_is_named(self, filled: Library, named: Open) -> None:
        library = named(embedding__model=NEW)
        ready = library.build_beside().beside
        assert ready is not None
        assert ready.model == "named/new/48"

    def test_built_twice_it_is_there_once(self, built: Library, home: Path) -> None:
        before = index_folders(home)
        texts = len(embedder(built, of_beside=True).texts)
        built.build_beside(NEW)
        assert index_folders(home) == before
        assert len(embedder(built, of_beside=True).texts) == texts

    def test_an_empty_collection_may_change_its_model_too(self, named: Open, folder: Path) -> None:
        library = named()
        library.add(str(folder))
        for file in folder.iterdir():
            file.unlink()
        library.add(str(folder))
        library.build_beside(NEW)
        library.switch()
        library.add(str(write_folder(folder, ["later"])))
        assert library.search("quick brown fox", mode="vector").hits
        assert sound(library)

    def test_where_no_model_was_there_before_one_can_be_built(self, named: Open, folder: Path) -> None:
        library = named(embedding__model="gone/8")
        library.add(str(folder))
        assert library.status()[0].model == ""
        library.build_beside(NEW)
        library.switch()
        assert library.search("quick brown fox", mode="vector").hits
        library.roll_back()
        assert library.search("quick brown fox").degraded
        library.switch()
        assert sound(library)


def ready(state: CollectionStatus) -> bool:
    return state.beside is not None and state.beside.state == "ready"


def embedder_texts(library: Library) -> list[str]:
    """Return what was embedded by the new model."""
    found: Any = library.app.embedder_by({**recorded(library.settings.embedding), "model": NEW})
    return list(found.texts)


class TestSwitching:
    def test_the_answers_are_those_of_the_new_model_and_nothing_is_embedded(
        self, built: Library, folder: Path, tmp_path: Path
    ) -> None:
        texts = len(embedder(built, of_beside=True).texts)
        state = built.switch()
        assert state.model == "named/new/48"
        assert state.beside is not None
        assert (state.beside.model, state.beside.state) == ("named/old/32", "previous")
        assert len(embedder(built).texts) == texts
        assert answers(built) == directly(tmp_path, folder, NEW, built)
        assert sound(built)

    def test_going_back_and_forth_embeds_nothing(self, built: Library) -> None:
        old, new = answers(built), answers(built, generation="beside")
        texts = len(embedder(built).texts), len(embedder(built, of_beside=True).texts)
        for _ in range(2):
            built.switch()
            assert answers(built) == new
            assert answers(built, generation="beside") == old
            built.roll_back()
            assert answers(built) == old
            assert answers(built, generation="beside") == new
        assert (len(embedder(built).texts), len(embedder(built, of_beside=True).texts)) == texts
        assert sound(built)

    def test_other_processes_notice(self, built: Library, beside: Library) -> None:
        old, new = answers(beside), answers(beside, generation="beside")
        built.switch()
        assert answers(beside) == new
        built.roll_back()
        assert answers(beside) == old
        built.drop_beside()
        with pytest.raises(NotFound):
            beside.search("fox", generation="beside")
        assert answers(beside) == old

    def test_it_is_served_by_its_own_model_whatever_the_settings_say(self, built: Library, named: Open) -> None:
        new = answers(built, generation="beside")
        old = answers(built)
        built.switch()
        for model in (OLD, NEW, "third/8"):
            library = named(embedding__model=model)
            assert answers(library) == new
            assert answers(library, generation="beside") == old
            assert sound(library)

    def test_the_first_model_answers_again_whatever_the_settings_say(self, built: Library, named: Open) -> None:
        old = answers(built)
        built.switch()
        library = named(embedding__model="third/8")
        library.roll_back()
        assert answers(library) == old

    def test_what_never_had_another_beside_it_depends_on_the_settings(self, filled: Library, named: Open) -> None:
        library = named(embedding__model="third/8")
        with pytest.raises(ModelMismatch, match="the settings name named/third/8") as caught:
            library.search("fox")
        assert "reindex --embed" in caught.value.hint
        assert "reindex --beside" in caught.value.hint

    def test_the_settings_may_be_changed_before_the_switch(self, built: Library, named: Open) -> None:
        old, new = answers(built), answers(built, generation="beside")
        library = named(embedding__model=NEW)
        assert answers(library) == old
        library.switch()
        assert answers(library) == new
        library.roll_back()
        assert answers(library) == old

    def test_once_nothing_is_beside_it_the_first_model_is_that_of_the_settings_again(
        self, built: Library, named: Open
    ) -> None:
        built.drop_beside()
        with pytest.raises(ModelMismatch):
            named(embedding__model=NEW).search("fox")

    def test_unless_they_name_another_by_then(self, built: Library, named: Open) -> None:
        old = answers(built)
        library = named(embedding__model=NEW)
        library.drop_beside()
        assert answers(library) == old

    def test_from_a_model_that_the_settings_do_not_name_any_more(
        self, filled: Library, named: Open, folder: Path, tmp_path: Path
    ) -> None:
        library = named(embedding__model=NEW)
        library.build_beside()
        with pytest.raises(ModelMismatch):
            library.search("fox")
        library.switch()
        new = answers(library)
        with pytest.raises(ModelMismatch, match="the settings name named/new/48"):
            library.roll_back()
        assert answers(library) == new
        library = named()
        library.roll_back()
        assert answers(library) == directly(tmp_path, folder, OLD, library)

    def test_collections_of_several_models_live_in_one_home(self, built: Library, tmp_path: Path) -> None:
        built.add(str(write_folder(tmp_path / "others", ["one", "two"])), "others")
        built.switch("default")
        assert model_of(built.search("fox", "default")) == "named/new/48"
        assert model_of(built.search("fox", "others")) == "named/old/32"
        built.build_beside("third/8", "others")
        built.switch("others")
        assert [state.model for state in built.status()] == ["named/new/48", "named/third/8"]
        assert sound(built)

    def test_the_command_that_embeds_what_waits_keeps_the_model(self, built: Library) -> None:
        built.switch()
        new = answers(built)
        built.reindex(embed=True)
        assert answers(built) == new
        assert built.status()[0].model == "named/new/48"
        built.roll_back()
        assert sound(built)

    def test_either_index_can_be_built_anew(self, built: Library, home: Path) -> None:
        old, new = answers(built), answers(built, generation="beside")
        built.reindex()
        assert (answers(built), answers(built, generation="beside")) == (old, new)
        built.switch()
        built.reindex()
        assert (answers(built), answers(built, generation="beside")) == (new, old)
        assert len(index_folders(home)) == 2
        built.roll_back()
        assert (answers(built), answers(built, generation="beside")) == (old, new)

    def test_a_damaged_index_is_mended_wherever_it_stands(self, built: Library, home: Path, named: Open) -> None:
        new = answers(built, generation="beside")
        record = built.app.beside("default")
        built.close()
        (home / "index" / f"{record.id}-{record.generation}" / "keyword" / "meta.json").write_text("{")
        library = named()
        assert answers(library, generation="beside") == new
        library.switch()
        assert sound(library)

    def test_a_model_that_is_another_by_now_is_refused(self, built: Library, monkeypatch: pytest.MonkeyPatch) -> None:
        built.switch()
        monkeypatch.setattr(NamedEmbedder, "fingerprint", property(lambda self: f"named/{self.name}/changed"))
        with pytest.raises(ModelMismatch, match="what it names as its own model is"):
            built.search("fox")


class TestConcurrentQueries:
    def test_each_answer_is_one_models_to_the_hit(self, built: Library, beside: Library) -> None:
        expected = {
            query: {answer(built.search(query, generation=which)) for which in ("serving", "beside")}
            for query in QUERIES
        }
        assert all(len(each) == 2 for each in expected.values())
        over = threading.Event()
        wrong: list[Answer] = []
        seen: set[Answer] = set()

        def ask(library: Library) -> int:
            count = 0
            while not over.is_set():
                query = QUERIES[count % len(QUERIES)]
                found = answer(library.search(query))
                seen.add(found)
                wrong.extend([found] if found not in expected[query] else [])
                count += 1
            return count

        with ThreadPoolExecutor(4) as pool:
            asking = [pool.submit(ask, library) for library in (built, beside) for _ in range(2)]
            try:
                for _ in range(15):
                    built.switch()
                    built.roll_back()
            finally:
                over.set()
            assert all(done.result() > 10 for done in asking)
        assert wrong == []
        assert len(seen) == 2 * len(QUERIES)

    def test_also_while_it_is_dropped_and_built_again(self, filled: Library) -> None:
        old = {query: answer(filled.search(query)) for query in QUERIES}
        filled.build_beside(NEW)
        new = {query: answer(filled.search(query, generation="beside")) for query in QUERIES}
        over = threading.Event()
        wrong: list[Answer] = []

        def ask() -> None:
            while not over.is_set():
                for query in QUERIES:
                    found = answer(filled.search(query))
                    wrong.extend([found] if found not in (old[query], new[query]) else [])

        with ThreadPoolExecutor(2) as pool:
            asking = [pool.submit(ask) for _ in range(2)]
            try:
                for model in (OLD, NEW, OLD, NEW):
                    filled.switch()
                    filled.drop_beside()
                    filled.build_beside(model)
            finally:
                over.set()
            for done in asking:
                done.result()
        assert wrong == []


def change_files(folder: Path, label: str) -> None:
    """Add a file, change one, and delete one."""
    write_folder(folder, [f"added-{label}"])
    write_folder(folder, ["file3"], lines=9 + len(label))
    next(path for path in sorted(folder.iterdir()) if path.name.startswith("file") and path.name != "file3.md").unlink()


class TestDocumentsThatChangeMeanwhile:
    @pytest.mark.parametrize("stage", ["scan", "embed", "index"])
    def test_while_it_is_built(self, filled: Library, folder: Path, tmp_path: Path, stage: str) -> None:
        changed: list[Event] = []

        def change(event: Event) -> None:
            if event.stage == stage and not changed:
                changed.append(event)
                change_files(folder, stage)
                filled.add(str(folder))

        filled.build_beside(NEW, on_event=change)
        assert changed
        filled.switch()
        assert sound(filled)
        assert by_meaning(filled) == directly_by_meaning(tmp_path, folder, NEW, filled)

    def test_before_the_switch(self, built: Library, folder: Path, tmp_path: Path) -> None:
        change_files(folder, "before")
        built.add(str(folder))
        state = built.status()[0]
        assert state.beside is not None
        assert state.beside.waiting > 0
        built.switch()
        assert sound(built)
        assert by_meaning(built) == directly_by_meaning(tmp_path, folder, NEW, built)

    def test_after_the_switch_and_after_going_back(self, built: Library, folder: Path, tmp_path: Path) -> None:
        built.switch()
        change_files(folder, "after")
        built.add(str(folder))
        assert sound(built)
        assert by_meaning(built) == directly_by_meaning(tmp_path, folder, NEW, built)
        old = built.roll_back()
        assert old.pending > 0
        assert built.search("added after", mode="keyword").hits[0].path == "added-after.md"
        built.embed_pending()
        assert sound(built)
        assert by_meaning(built) == directly_by_meaning(tmp_path, folder, OLD, built)

    def test_nothing_is_read_again_because_of_a_switch(self, built: Library, folder: Path) -> None:
        built.switch()
        stages: list[str] = []
        report = built.add(str(folder), on_event=lambda event: stages.append(event.stage))
        assert "read" not in stages
        assert (report.embedded, report.pending) == (0, 0)

    def test_while_both_are_kept_files_are_cut_so_that_either_can_read_them(self, named: Open, folder: Path) -> None:
        library = named(chunking__size=0)
        library.add(str(folder))
        library.build_beside("reads-more/16/500")
        library.switch()
        (folder / "long.md").write_text("quick brown fox. " * 400)
        library.add(str(folder))
        library.roll_back()
        library.embed_pending()
        assert sound(library)
        library.switch()
        library.drop_beside()
        report = library.add(str(folder))
        assert report.changed
        assert sound(library)

    def test_another_process_embeds_while_it_switches(self, built: Library, beside: Library, folder: Path) -> None:
        """A run that began under the old model ends with vectors of the new one."""
        change_files(folder, "during")
        switched: list[bool] = []

        def switch(event: Event) -> None:
            if event.stage == "embed" and not switched:
                switched.append(True)
                built.switch()

        beside.add(str(folder), on_event=switch)
        assert switched
        assert beside.status()[0].model == "named/new/48"
        assert sound(beside)
        assert sound(built)


class TestDropping:
    def test_a_half_built_one_can_be_given_up(self, filled: Library, home: Path) -> None:
        before, folders = answers(filled), index_folders(home)
        with pytest.raises(StoppedError):
            filled.build_beside(NEW, on_event=stop_at("index"))
        assert len(index_folders(home)) == 2
        assert filled.drop_beside() > 0
        assert filled.status()[0].beside is None
        assert index_folders(home) == folders
        assert answers(filled) == before
        assert stored_models(filled) == {"named/old/32"}

    def test_what_answered_before_can_be_dropped(self, built: Library, home: Path) -> None:
        built.switch()
        new = answers(built)
        built.drop_beside()
        assert len(index_folders(home)) == 1
        assert stored_models(built) == {"named/new/48"}
        assert answers(built) == new
        with pytest.raises(NotFound, match="no generation beside"):
            built.roll_back()

    def test_vectors_that_another_collection_uses_are_kept(self, built: Library, folder: Path) -> None:
        built.add(str(folder), "copy")
        built.switch("default")
        built.drop_beside("default")
        assert sound(built)
        assert stored_models(built) == {"named/old/32", "named/new/48"}

    def test_the_next_one_takes_the_place_of_what_answered_before(self, built: Library) -> None:
        built.switch()
        state = built.build_beside("third/8")
        assert state.beside is not None
        assert (state.model, state.beside.model) == ("named/new/48", "named/third/8")
        assert stored_models(built) == {"named/new/48", "named/third/8"}

    def test_what_answered_before_is_brought_up_to_date_when_it_is_asked_for_again(
        self, built: Library, folder: Path, tmp_path: Path
    ) -> None:
        built.switch()
        texts = len(embedder(built, of_beside=True).texts)
        change_files(folder, "again")
        built.add(str(folder))
        state = built.build_beside(OLD)
        assert state.beside is not None
        assert (state.beside.state, state.beside.waiting) == ("ready", 0)
        assert len(embedder(built, of_beside=True).texts) - texts < state.chunks / 2
        built.switch()
        assert by_meaning(built) == directly_by_meaning(tmp_path, folder, OLD, built)


def stored_models(library: Library) -> set[str]:
    """Return the models of which the catalogue has vectors."""
    query = select(models.c.fingerprint).where(models.c.id.in_(select(embeddings.c.model_id)))
    with library.app.catalog.read() as connection:
        return set(connection.scalars(query))


class TestTroubles:
    def test_the_same_model(self, filled: Library) -> None:
        with pytest.raises(InvalidInput, match="is answered by named/old/32 already"):
            filled.build_beside(OLD)
        assert filled.status()[0].beside is None

    def test_a_model_that_cannot_be_had(self, filled: Library) -> None:
        with pytest.raises(ModelUnavailable, match="cannot be had"):
            filled.build_beside("gone/8")
        assert filled.status()[0].beside is None

    def test_an_unknown_provider(self, filled: Library, named: Open) -> None:
        filled.close()
        with pytest.raises(InvalidSetting, match="no embedding provider"):
            named(embedding__provider="nobody").build_beside()

    def test_a_folder_without_a_model(self, filled: Library, tmp_path: Path) -> None:
        (tmp_path / "empty-model").mkdir()
        with pytest.raises(ModelUnavailable, match="empty-model"):
            filled.build_beside(str(tmp_path / "empty-model"))
        assert filled.status()[0].beside is None

    def test_a_model_whose_weights_are_damaged(self, filled: Library, tmp_path: Path) -> None:
        model = make_tiny_bert(tmp_path / "damaged")
        weights = model / "model.safetensors"
        weights.write_bytes(weights.read_bytes()[:1000])
        with pytest.raises(ModelUnavailable, match="damaged"):
            filled.build_beside(str(model))
        assert filled.status()[0].beside is None

    def test_chunks_that_are_too_long_are_counted_before_anything_is_embedded(self, filled: Library) -> None:
        with pytest.raises(InvalidInput, match=r"\d+ of \d+ chunks .* longer than named/narrow/16 reads") as caught:
            filled.build_beside("narrow/16/20")
        assert "chunking.size" in caught.value.hint
        assert "--anyway" in caught.value.hint
        assert filled.status()[0].beside is None

    def test_anyway_they_are_found_by_words_only(self, filled: Library, folder: Path) -> None:
        filled.add(str(short_file(folder)))
        state = filled.build_beside("narrow/16/20", anyway=True)
        assert state.beside is not None
        assert state.beside.state == "ready"
        assert 0 < state.beside.waiting < state.chunks
        switched = filled.switch()
        assert switched.pending == state.beside.waiting
        assert not any(filled.verify().values())
        assert filled.search("file7", mode="keyword").hits

    def test_files_cut_anew_after_that_have_all_their_vectors(self, filled: Library, folder: Path) -> None:
        filled.build_beside("narrow/16/20", anyway=True)
        filled.switch()
        filled.add(str(folder))
        assert sound(filled)
        filled.roll_back()
        filled.embed_pending()
        assert sound(filled)

    def test_another_one_is_not_given_up_unasked(self, built: Library) -> None:
        with pytest.raises(InvalidInput, match="named/new/48 is ready") as caught:
            built.build_beside("third/8")
        assert "--switch" in caught.value.hint
        assert "--drop-beside" in caught.value.hint

    def test_a_half_built_one_is_not_switched_to(self, filled: Library) -> None:
        before = answers(filled)
        with pytest.raises(StoppedError):
            filled.build_beside(NEW, on_event=stop_at("embed"))
        with pytest.raises(InvalidInput, match="not built to the end"):
            filled.switch()
        with pytest.raises(NotFound, match="not built yet"):
            filled.search("fox", generation="beside")
        assert answers(filled) == before

    def test_without_one_there_is_nothing_to_do(self, filled: Library) -> None:
        for act in (filled.switch, filled.roll_back, filled.drop_beside):
            with pytest.raises(NotFound, match="no generation beside"):
                act()
        with pytest.raises(NotFound, match="no collection 'nowhere'"):
            filled.switch("nowhere")

    def test_before_a_switch_there_is_nothing_to_go_back_to(self, built: Library) -> None:
        with pytest.raises(InvalidInput, match="nothing to go back to"):
            built.roll_back()
        built.switch()
        with pytest.raises(InvalidInput, match="what answered before") as caught:
            built.switch()
        assert "--rollback" in caught.value.hint

    def test_going_over_to_the_model_beside_by_embedding_anew_is_refused(self, built: Library, named: Open) -> None:
        library = named(embedding__model=NEW)
        with pytest.raises(InvalidInput, match="stands beside") as caught:
            library.reindex(embed=True)
        assert "--switch" in caught.value.hint

    def test_two_at_a_time_are_refused(self, filled: Library, home: Path) -> None:
        lock = FileLock(home / "index" / f"{filled.collection().id}.beside.lock")
        (home / "index").mkdir(exist_ok=True)
        with lock, pytest.raises(Busy, match="Another process is working"):
            filled.build_beside(NEW)
        filled.build_beside(NEW)

    def test_a_full_disk_leaves_what_answers_as_it_is(self, filled: Library, tmp_path: Path, named: Open) -> None:
        with small_file_system(tmp_path / "small", 6) as place:
            small = {"home": place / "home"}
            with Library(filled.settings.model_copy(update=small)) as library:
                library.add(str(write_folder(tmp_path / "few", NAMES[:3])))
                before = answers(library)
                (place / "ballast").write_bytes(bytes(free_bytes(place) - 150_000))
                with pytest.raises(StorageFull):
                    library.build_beside("wide/8000")
                assert answers(library) == before
                assert library.status()[0].model == "named/old/32"
                (place / "ballast").unlink()
                library.build_beside("wide/8000")
                library.switch()
                assert sound(library)


def short_file(folder: Path) -> Path:
    (folder / "short.md").write_text("A few words.\n")
    return folder


def free_bytes(place: Path) -> int:
    return shutil.disk_usage(place).free
