"""Where providers of models are asked, and how often."""

from __future__ import annotations

import typing
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest

from pinakes.core.errors import InvalidSetting, ModelUnavailable, NotConfigured
from pinakes.models.providers import PROVIDERS, endpoint_of
from pinakes.models.retrying import asked_wait_s, is_transient, retried, wait_before
from pinakes.settings import ProviderName


def test_every_provider_that_can_be_set_is_in_the_table() -> None:
    assert set(PROVIDERS) == set(typing.get_args(ProviderName))


@pytest.mark.parametrize(
    ("name", "url", "address"),
    [
        ("openai", "", "https://api.openai.com/v1/embeddings"),
        ("openai", "https://proxy/v1/", "https://proxy/v1/embeddings"),
        ("endpoint", "http://h/v1/embeddings", "http://h/v1/embeddings"),
        ("endpoint", "http://h/v1?tenant=a#part", "http://h/v1/embeddings?tenant=a"),
        ("gemini", "", "https://generativelanguage.googleapis.com/v1beta/openai/embeddings"),
        ("ollama", "", "http://127.0.0.1:11434/v1/embeddings"),
        ("lmstudio", "", "http://127.0.0.1:1234/v1/embeddings"),
        ("azure_openai", "https://r", "https://r/openai/deployments/m%2Fx/embeddings?api-version=2024-10-21"),
        ("azure_openai", "https://r/openai/", "https://r/openai/deployments/m%2Fx/embeddings?api-version=2024-10-21"),
        ("azure_openai", "https://r?api-version=2030", "https://r/openai/deployments/m%2Fx/embeddings?api-version=2030"),
        ("azure_openai", "https://r/openai/v1", "https://r/openai/v1/embeddings"),
        ("azure_openai", "https://r/openai/deployments/d", "https://r/openai/deployments/d/embeddings?api-version=2024-10-21"),
    ],
)  # fmt: skip
def test_an_address_is_put_together_of_what_is_given(name: ProviderName, url: str, address: str) -> None:
    assert endpoint_of(name, "/embeddings", name="model", section="embedding", url=url, model="m/x").url == address


@pytest.mark.parametrize(("name", "url"), [("azure_openai", ""), ("openai", "ftp://x"), ("endpoint", "host:8000")])
def test_what_is_no_address_is_refused(name: ProviderName, url: str) -> None:
    with pytest.raises(InvalidSetting, match=r"embedding\.url is not the address of an API"):
        endpoint_of(name, "/embeddings", name="model", section="embedding", url=url)


def failure(status: int | None, wait_s: float | None = None) -> ModelUnavailable:
    return ModelUnavailable("It failed.", status=status, wait_s=wait_s)


@pytest.mark.parametrize(("status", "passing"), [(0, True), (429, True), (500, True), (529, True), (408, True)])
def test_what_passes_is_told_from_what_stays(status: int, passing: bool) -> None:
    assert is_transient(failure(status)) is passing
    assert not any(is_transient(failure(other)) for other in (None, 400, 401, 403, 404, 413, 422))
    assert not is_transient(NotConfigured("There is no key."))


def test_waits_grow_and_differ_and_end_somewhere() -> None:
    longest = [wait_before(attempt, failure(500), lambda: 1.0) for attempt in range(1, 12)]
    assert longest[:4] == [0.5, 1, 2, 4]
    assert longest[-1] == 60
    assert [wait_before(attempt, failure(500), lambda: 0.0) for attempt in (1, 2)] == [0.25, 0.5]
    assert wait_before(1, failure(429, 7.5)) == 7.5
    assert wait_before(1, failure(429, 9_999)) == 60


class Clock:
    """A time that passes only when somebody waits."""

    def __init__(self) -> None:
        self.now = 0.0
        self.waits: list[float] = []

    def sleep(self, seconds: float) -> None:
        self.waits.append(seconds)
        self.now += seconds


def test_it_is_asked_again_until_it_goes_well() -> None:
    clock, answers = Clock(), iter([failure(429, 3), failure(0), "done"])

    def ask() -> str:
        answer = next(answers)
        if isinstance(answer, ModelUnavailable):
            raise answer
        return answer

    assert retried(ask, 5, sleep=clock.sleep, clock=lambda: clock.now) == "done"
    assert clock.waits[0] == 3
    assert 0.5 <= clock.waits[1] <= 1


@pytest.mark.parametrize(("retries", "until", "asked"), [(0, None, 1), (3, None, 4), (50, 10, 10)])
def test_it_is_given_up_after_so_many_times_or_so_long(retries: int, until: float | None, asked: int) -> None:
    clock, count = Clock(), 0

    def ask() -> str:
        nonlocal count
        count += 1
        raise failure(503, 1)

    with pytest.raises(ModelUnavailable):
        retried(ask, retries, until, sleep=clock.sleep, clock=lambda: clock.now)
    assert count == asked


def test_when_to_come_back_is_told_in_seconds_or_as_a_date() -> None:
    assert asked_wait_s("12") == 12
    later = asked_wait_s(format_datetime(datetime.now(UTC) + timedelta(seconds=30), usegmt=True))
    assert later is not None
    assert 25 < later <= 30
    assert asked_wait_s(format_datetime(datetime.now(UTC) - timedelta(days=1), usegmt=True)) == 0
    nonsense = (
        "",
        "soon",
        "-5",
        "²",
        "Mon, 01 Jan 2001 00:00:00 +99999999999999",
        "Mon, 1 Jan 99999999999999 0:0:0 GMT",
    )
    assert [asked_wait_s(text) for text in nonsense] == [None] * len(nonsense)
