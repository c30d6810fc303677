"""The handbook profile: what it reads from paths."""

from __future__ import annotations

from pathlib import Path

import pytest

from pinakes.core.records import Document
from pinakes.metadata import RuleSubject, ruled
from pinakes.settings import load


@pytest.mark.parametrize(
    ("path", "category"),
    [
        ("content/departments/sales/tools/crm/index.md", "sales"),
        ("departments/sales/tools/crm/index.md", "sales"),
        ("sales/tools/crm/index.md", "sales"),
        ("content/team/ceo/roles.md", "team"),
        ("team/ceo/roles.md", "team"),
        ("content/departments/index.md", None),
        ("content/index.md", None),
        ("README.md", None),
    ],
)
def test_the_category_is_the_folder_of_the_department_or_else_the_outermost(
    tmp_path: Path, path: str, category: str | None
) -> None:
    rules = load(home=tmp_path, environment={}, profile="handbook").of_collection("handbook")
    found = ruled(RuleSubject(path, Document(text="# A page\n"), {}, {}), rules.metadata_rules, rules.fields)
    assert found.get("category") == category
