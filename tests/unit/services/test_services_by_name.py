"""The services of a library by name."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from pinakes import Library
from pinakes.services.facade.on_demand import Services

SERVICES = [name for name, kind in Services.__annotations__.items() if kind.startswith("once")]


@pytest.mark.parametrize("name", SERVICES)
def test_a_service_is_what_its_name_is_annotated_as(name: str, tmp_path: Path) -> None:
    with Library.open(tmp_path, embedding__provider="deterministic") as library:
        service = getattr(library, name)
        kind = service.func if isinstance(service, partial) else type(service)
        assert not isinstance(kind, type) or f"[{kind.__name__}]" in Services.__annotations__[name]
        assert getattr(library, name) is service
