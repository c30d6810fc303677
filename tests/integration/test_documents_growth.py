"""Putting one document is the same work in a large collection as in a small one."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import event

from pinakes.catalog import Catalog
from pinakes.library import Library
from pinakes.services.documents.planned_changes import Draft

FEW = ("collections", "beside")
"""Tables with a row a collection: looking through them costs nothing."""


def statements(catalog: Catalog) -> dict[str, Any]:
    """Return what is asked of the database from now on, each with parameters of it."""
    seen: dict[str, Any] = {}

    def note(_: Any, __: Any, statement: str, parameters: Any, ___: Any, many: bool) -> None:
        seen.setdefault(statement, parameters[0] if many else parameters)

    event.listen(catalog.engine, "before_cursor_execute", note)
    return seen


def scans(catalog: Catalog, statement: str, parameters: Any) -> list[str]:
    """Return how the database looks through whole tables for a statement; the lists it is given are virtual ones."""
    with catalog.engine.connect() as connection:
        plan = connection.exec_driver_sql(f"EXPLAIN QUERY PLAN {statement}", parameters).all()
    looked = [row.detail for row in plan if row.detail.startswith("SCAN ") and "VIRTUAL TABLE" not in row.detail]
    return [said for said in looked if said.split()[1] not in FEW]


def largest(home: Path, part: str) -> str:
    return max(home.glob(f"index/*/{part}/*.store"), key=lambda path: path.stat().st_size).name


def test_the_database_looks_through_no_table_that_grows(library: Library) -> None:
    catalog = library.app.catalog
    library.documents.put("Herons fish.", title="First")
    seen = statements(catalog)
    for text in ("Herons fish by night.", "Herons fish by day."):
        library.documents.put(
            text, title="Second", uri="bird:2", tags=["a"], summary="What herons do by night and day."
        )
        library.documents.put(text, title="Third")
    asked = dict(seen)
    assert any(one.startswith("INSERT INTO chunks") for one in asked)
    found = {
        statement: said
        for statement, parameters in asked.items()
        if not statement.startswith("BEGIN") and (said := scans(catalog, statement, parameters))
    }
    assert found == {}


@pytest.mark.parametrize("part", ["keyword", "documents"])
def test_no_index_is_written_anew_for_a_few_documents(library: Library, home: Path, part: str) -> None:
    library.documents.put_many([Draft(f"Herons fish {number}. " * 20, f"Heron {number}") for number in range(300)])
    begun, seen = largest(home, part), set[str]()
    for number in range(20):
        library.documents.put(f"Storks walk {number}.", title=f"Stork {number}")
        seen.add(largest(home, part))
    assert seen == {begun}
    assert library.verify() == {"default": []}
