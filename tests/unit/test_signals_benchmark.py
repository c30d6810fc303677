"""The benchmark of signals compares each with none of them."""

from __future__ import annotations

from pathlib import Path

from benchmarks.quality.signals import OFF, SIGNALS

from pinakes import settings
from pinakes.settings import BoostSettings


def test_every_weight_is_off_in_what_signals_are_compared_with() -> None:
    weights = {
        name
        for name, info in BoostSettings.model_fields.items()
        if isinstance(info.default, int | float) and name != "metadata_most"
    }
    assert {f"boosts__{name}" for name in weights} | {"search__definition_boost"} == set(OFF)
    assert not any(OFF.values())


def test_every_signal_is_a_setting_that_can_be(tmp_path: Path) -> None:
    for changes in SIGNALS.values():
        chosen = settings.load(home=tmp_path, environment={}, **{**OFF, **changes})
        off = settings.load(home=tmp_path, environment={}, **OFF)
        assert chosen != off
