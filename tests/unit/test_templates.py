"""Metadata from paths."""

from __future__ import annotations

from string import ascii_lowercase, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pinakes.core.errors import InvalidSetting
from pinakes.metadata.templates import fields_of, key_of

KEP = r"keps/{sig_name:sig-[^/]+}/{kep_number:\d+}-{slug}/{file*}"


@pytest.mark.parametrize(
    ("path", "fields"),
    [
        (
            "keps/sig-auth/2086-name/README.md",
            {"sig_name": "sig-auth", "kep_number": "2086", "slug": "name", "file": "README.md"},
        ),
        (
            "clone/keps/sig-auth/0001-a-b/sub/x.yaml",
            {"sig_name": "sig-auth", "kep_number": "0001", "slug": "a-b", "file": "sub/x.yaml"},
        ),
        ("keps/sig-auth/README.md", {}),
        ("keps/prod-readiness/sig-auth/2086.yaml", {}),
        ("otherkeps/sig-auth/1-x/y", {}),
        ("", {}),
    ],
)
def test_a_path_gives(path: str, fields: dict[str, str]) -> None:
    assert fields_of(path, [KEP]) == fields


def test_the_first_template_that_fits_is_used() -> None:
    assert fields_of("a/b.md", ["{x}/{y}/{z}", "{folder}/{file}", "{path*}"]) == {"folder": "a", "file": "b.md"}


@pytest.mark.parametrize(
    ("path", "category"),
    [("sales/tools/crm/x.md", "sales"), ("departments/sales/departments/x/y.md", "departments"), ("x.md", None)],
)
def test_a_template_begins_at_the_outermost_folder_that_fits(path: str, category: str | None) -> None:
    assert fields_of(path, ["{category}/{rest*}"]).get("category") == category
    assert fields_of(f"vendors/{path}", ["vendors/{category}/{rest*}"]).get("category") == category


def test_a_name_stands_for_one_part_and_a_starred_one_for_the_rest() -> None:
    assert fields_of("docs/a/b/c.md", ["docs/{name}"]) == {}
    assert fields_of("docs/a/b/c.md", ["docs/{name*}"]) == {"name": "a/b/c.md"}


def test_signs_of_expressions_outside_braces_are_plain_text() -> None:
    assert fields_of("v1.2+x/a.md", ["v1.2+x/{file}"]) == {"file": "a.md"}
    assert fields_of("v1x2+x/a.md", ["v1.2+x/{file}"]) == {}


def test_an_expression_may_count() -> None:
    assert fields_of("2024/03/x.md", [r"{year:\d{4}}/{month:\d{1,2}}/{file}"]) == {
        "year": "2024",
        "month": "03",
        "file": "x.md",
    }


@pytest.mark.parametrize("template", ["{a}/{a}", "{a:[}", "{1a}", "{a:(}"])
def test_a_template_that_cannot_be_is_refused(template: str) -> None:
    with pytest.raises(InvalidSetting, match="cannot be used") as caught:
        fields_of("x/y", [template])
    assert "{name" in caught.value.hint


def test_a_key_is_filled_in() -> None:
    assert key_of({"sig_name": "sig-auth", "kep_number": "2086"}, "{sig_name}/{kep_number}") == "sig-auth/2086"


def test_a_key_with_something_missing_is_no_key() -> None:
    assert key_of({"sig_name": "sig-auth"}, "{sig_name}/{kep_number}") == ""
    assert key_of({}, "{sig_name}") == ""
    assert key_of({"sig_name": "x"}, "") == ""


@pytest.mark.parametrize("template", ["{", "{}", "{0}", "{a.b}", "{a[0].b}", "}"])
def test_a_key_template_that_cannot_be_is_refused(template: str) -> None:
    with pytest.raises(InvalidSetting, match="Document key"):
        key_of({"a": "x"}, template)


@given(st.lists(st.text(f"{ascii_lowercase}{digits}.-", min_size=1, max_size=8), min_size=3, max_size=3))
def test_what_is_read_from_a_path_makes_the_path_again(parts: list[str]) -> None:
    fields = fields_of("/".join(parts), ["{a}/{b}/{c}"])
    assert key_of(fields, "{a}/{b}/{c}") == "/".join(parts)
