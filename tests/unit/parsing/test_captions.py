"""Captions are what is said, with its time."""

from __future__ import annotations

import pytest

from pinakes import parsing
from pinakes.core.records import Document


def read(text: str, path: str) -> Document:
    return parsing.read(text.encode(), path, max_chars=100_000)


def test_voices_and_times_stay_and_styles_go() -> None:
    source = (
        "WEBVTT - a talk\n\nSTYLE\n::cue { color: red }\n\nNOTE nobody reads this\n\nintro\n"
        "00:01.000 --> 00:03.000 align:start\n<v.loud Mary Jo>Hello <i>there</i>,</v>\nhow are you?\n\n"
        "00:04.000 --> 00:05.000\n<v Bob>Fine &amp; well.\n\n01:00:04.000 --> 01:00:05.000\nBye\n"
    )
    document = read(source, "talk.vtt")
    assert document.text == (
        "[00:00:01] Mary Jo: Hello there, how are you?\n\n[00:00:04] Bob: Fine & well.\n\n[01:00:04] Bye\n"
    )
    assert document.lines == (9, 9, 13, 13, 16, 16)


def test_sentences_are_joined_and_numbers_of_captions_go() -> None:
    source = (
        "1\n00:00:01,000 --> 00:00:03,000\n<font color='red'>One</font>,\n\n"
        "2\n00:00:03,000 --> 00:00:04,000\n{\\an8}two 42.\n\n3\n00:00:09,000 --> 00:00:14,000\n7 bees\n"
    )
    assert read(source, "film.SRT").text == "[00:00:01] One, two 42.\n\n[00:00:09] 7 bees\n"


def test_rolling_captions_say_things_once() -> None:
    rows = ["so we", "so we went", "so we went home."]
    source = "WEBVTT\n\n" + "".join(f"00:0{n}.000 --> 00:0{n + 1}.000\n{row}\n\n" for n, row in enumerate(rows))
    assert read(source, "a.vtt").text == "[00:00:00] so we went home.\n"


@pytest.mark.parametrize("source", ["WEBVTT\n\njust words\n", "no times at all\n", "00:00 -> 1\nx\n"])
def test_a_file_without_times_is_read_as_it_stands(source: str) -> None:
    assert read(source, "a.vtt").text == source


@pytest.mark.parametrize("times", ["0:0:3.540 --> 0:0:7.23", "00:3,5 --> 00:7", "0:00:3 --> 1:2:7.950"])
def test_times_without_leading_zeros_are_times(times: str) -> None:
    source = f"WEBVTT\n\n6e2b1f0c/12-0\n{times}\n<v Ann>Good morning.</v>\n"
    assert read(source, "a.vtt").text == "[00:00:03] Ann: Good morning.\n"
