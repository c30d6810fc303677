"""The kernel profile: which files of a tree it reads, and that it alone expands queries."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinakes.settings import Settings, load, profiles
from pinakes.sources.globs import Rules


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return load(home=tmp_path, environment={}, profile="kernel")


@pytest.mark.parametrize(
    ("path", "is_read"),
    [
        ("mm/page_alloc.c", True),
        ("include/linux/mm.h", True),
        ("arch/x86/entry/entry_64.S", True),
        ("rust/kernel/lib.rs", True),
        ("Documentation/mm/numa.rst", True),
        ("Documentation/devicetree/bindings/retriever/cpus.yaml", True),
        ("kernel/rcu/Kconfig", True),
        ("lib/Kconfig.debug", True),
        ("drivers/net/Makefile", True),
        ("MAINTAINERS", True),
        ("LICENSES/preferred/GPL-2.0", False),
        ("Documentation/logo.gif", False),
        ("mm/page_alloc.o", False),
    ],
)
@pytest.mark.parametrize("above", ["", "linux/"])
def test_source_documentation_and_configuration_are_read(
    settings: Settings, above: str, path: str, is_read: bool
) -> None:
    [source] = settings.of_collection("kernel").sources
    rules = Rules(source.include, source.exclude)
    assert (rules.includes(above + path) and rules.why_not_listed(above + path) is None) == is_read


def test_a_search_is_answered_within_the_time_that_its_callers_wait(settings: Settings, tmp_path: Path) -> None:
    assert settings.server.search_timeout_s == 0.6
    others = {load(home=tmp_path, environment={}, profile=name).server.search_timeout_s for name in profiles()}
    assert others == {0.6, 30.0}


def test_queries_are_expanded_by_this_profile_only(tmp_path: Path) -> None:
    enabled = {name for name in profiles() if load(home=tmp_path, environment={}, profile=name).expansion.enabled}
    assert enabled == {"kernel"}
    assert not load(home=tmp_path, environment={}).expansion.enabled
