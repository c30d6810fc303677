from __future__ import annotations

from pinakes.ingestion.report import Event
from pinakes.services.run_progress import RunProgress, duration


class Clock:
    """Time that passes when told to."""

    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def course() -> tuple[RunProgress, Clock]:
    clock = Clock()
    return RunProgress(clock), clock


def test_looking_through_a_source_says_which():
    run, _ = course()
    run.see(Event("scan", 0, 0, "/srv/docs"))
    assert run.words() == "looking through /srv/docs"


def test_fetching_pages_says_how_far_it_is() -> None:
    run, _ = course()
    run.see(Event("scan", 0, 0, "https://docs.example.org/sitemap.xml"))
    run.see(Event("fetch", 37, 1500))
    assert run.words() == "37 of 1,500 pages fetched"


def test_files_count_as_done_when_their_batch_is_embedded():
    run, clock = course()
    for done in range(1, 11):
        run.see(Event("read", done, 40))
    clock.now += 10
    run.see(Event("embed", 64, 128))
    assert run.done == 5
    run.see(Event("embed", 128, 128))
    assert run.done == 10
    run.see(Event("index", 1, 1))
    run.see(Event("read", 20, 40))
    assert run.done == 10


def test_rate_and_time_left_follow_from_what_is_done():
    run, clock = course()
    run.see(Event("read", 10, 40))
    run.see(Event("embed", 64, 128))
    clock.now += 10
    run.see(Event("embed", 128, 128))
    assert run.words() == "10 of 40 files read, 128 chunks embedded, 13 per second, 30 s left"


def test_chunks_of_several_batches_add_up():
    run, _ = course()
    for first in (10, 20):
        run.see(Event("read", first, 20))
        for done in (64, 100):
            run.see(Event("embed", done, 100))
    assert "200 chunks embedded" in run.words()
    assert run.done == 20


def test_without_embedding_files_read_are_files_done():
    run, clock = course()
    clock.now += 10
    run.see(Event("read", 10, 40))
    assert run.done == 10
    assert run.words() == "10 of 40 files read, 1.0 per second, 30 s left"


def test_a_stopped_run_says_how_far_it_came():
    run, _ = course()
    assert run.reached() == ""
    run.see(Event("read", 10, 40))
    assert run.reached() == "0 of 40 files"
    run.see(Event("embed", 128, 128))
    assert run.reached() == "0 of 40 files, 128 chunks embedded"
    run.see(Event("commit", 10, 10))
    run.see(Event("read", 11, 40))
    assert run.reached() == "10 of 40 files, 128 chunks embedded"
    run.see(Event("searchable", 64, 2112))
    assert run.reached() == "64 of 2,112 chunks with exact vectors"


def test_no_time_is_promised_at_the_very_start():
    run, _ = course()
    run.see(Event("read", 1, 4000))
    assert run.seconds_left() is None


def test_durations_read_well():
    assert [duration(s) for s in (3, 89, 90, 600, 5399, 7200)] == ["3 s", "89 s", "2 min", "10 min", "90 min", "2.0 h"]


def test_waiting_for_another_process_is_said_until_it_ends():
    run, _ = course()
    run.see(Event("wait", 0, 0, "notes"))
    assert run.words() == "waiting for the other process"
    run.see(Event("scan", 0, 0, "notes"))
    assert run.words() == "looking through notes"


def test_once_it_is_searchable_the_share_that_is_exact_is_told():
    run, clock = course()
    run.see(Event("read", 20, 20))
    run.see(Event("embed", 64, 64))
    run.see(Event("searchable", 64, 2112))
    assert run.words() == "searchable; 3.0 % exact (64 of 2,112 chunks)"
    run.see(Event("embed", 256, 512))
    assert (run.done, run.total) == (320, 2112)
    run.see(Event("embed", 512, 512))
    clock.now += 10
    run.see(Event("index", 512, 2048))
    assert run.words() == "searchable; 27.2 % exact (576 of 2,112 chunks), 51 per second, 30 s left"
    assert (run.done, run.total) == (576, 2112)


def test_a_larger_sample_counts_as_exact_too():
    run, _ = course()
    run.see(Event("searchable", 100, 1000))
    run.see(Event("embed", 50, 50))
    run.see(Event("embed", 50, 50))
    run.see(Event("embed", 60, 60))
    run.see(Event("index", 64, 800))
    assert run.words() == "searchable; 26.4 % exact (264 of 1,000 chunks)"


def test_the_end_of_a_run_does_not_change_what_is_exact():
    run, _ = course()
    run.see(Event("searchable", 100, 1000))
    run.see(Event("embed", 900, 900))
    run.see(Event("index", 900, 900))
    run.see(Event("index", 1, 1))
    assert run.words() == "searchable; 100.0 % exact (1,000 of 1,000 chunks)"


def test_another_source_begins_anew():
    run, _ = course()
    run.see(Event("searchable", 100, 1000))
    run.see(Event("scan", 0, 0, "notes"))
    assert run.words() == "looking through notes"
    run.see(Event("read", 1, 4))
    assert (run.words(), run.done) == ("1 of 4 files read", 1)


def test_it_is_said_when_another_process_embeds_the_rest():
    run, _ = course()
    run.see(Event("read", 4, 4))
    run.see(Event("elsewhere", 0, 0))
    assert run.words() == "another process embeds the rest"
