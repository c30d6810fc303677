"""Fields of records that are found when they are first asked for."""

import copy
import pickle
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace

import pytest
from pydantic import TypeAdapter
from pydantic_core import to_json

from pinakes.core.late import LazyRecord, changed, with_lazy_fields


@dataclass(frozen=True, slots=True)
class Fruit(LazyRecord):
    name: str
    colour: str = ""
    taste: str = ""


@dataclass(frozen=True, slots=True)
class Shared(LazyRecord):
    """A record of which another thread computes ``colour`` while it is copied."""

    name: str
    colour: str = ""
    taste: str = ""

    def __getattribute__(self, name: str) -> object:
        if name == "find_lazy":
            object.__setattr__(self, "colour", "red")
            object.__setattr__(self, "lazy_fields", ("taste",))
        return object.__getattribute__(self, name)


def finding(asked: list[str]) -> Callable[[str], Mapping[str, object]]:
    def find(field: str) -> Mapping[str, object]:
        asked.append(field)
        return {"colour": "red", "taste": "sweet"}

    return find


def apple(asked: list[str]) -> Fruit:
    return with_lazy_fields(Fruit("apple"), ("colour", "taste"), finding(asked))


def test_what_is_lazy_fields_is_found_once_when_it_is_asked_for() -> None:
    asked: list[str] = []
    found = apple(asked)
    assert found.name == "apple"
    assert asked == []
    assert (found.colour, found.taste, found.colour) == ("red", "sweet", "red")
    assert asked == ["colour"]


def test_a_field_may_be_found_without_those_that_cost_more() -> None:
    asked: list[str] = []

    def find(field: str) -> Mapping[str, object]:
        asked.append(field)
        return {"colour": "red"} if field == "colour" else {"colour": "red", "taste": "sweet"}

    found = with_lazy_fields(Fruit("apple"), ("colour", "taste"), find)
    assert (found.colour, found.colour) == ("red", "red")
    assert asked == ["colour"]
    assert (changed(found, name="plum").taste, found.taste) == ("sweet", "sweet")
    assert asked == ["colour", "taste", "taste"]


def test_a_changed_record_leaves_open_what_the_other_does() -> None:
    asked: list[str] = []
    other = changed(apple(asked), name="cherry", taste="sour")
    assert other.name == "cherry"
    assert asked == []
    assert replace(other, name="plum") == Fruit("plum", "red", "sweet")


def test_a_field_computed_while_the_record_is_copied_is_not_lost() -> None:
    found = with_lazy_fields(Shared("apple"), ("colour", "taste"), finding([]))
    other = changed(found, name="cherry")
    assert (other.name, other.colour, other.taste) == ("cherry", "red", "sweet")


def test_a_record_that_has_all_is_changed_as_dataclasses_do() -> None:
    full = Fruit("apple", "red", "sweet")
    assert changed(full, colour="green") == replace(full, colour="green") == Fruit("apple", "green", "sweet")


def test_a_record_is_the_same_data_whether_or_not_it_was_asked() -> None:
    full = Fruit("apple", "red", "sweet")
    assert apple([]) == full
    assert asdict(apple([])) == asdict(full)
    assert to_json(apple([])) == to_json(full)
    assert pickle.loads(pickle.dumps(apple([]))) == copy.copy(apple([])) == full
    assert TypeAdapter(Fruit).validate_json(to_json(apple([]))) == full


def test_what_is_no_field_is_none_of_a_record_that_leaves_some_open() -> None:
    for one in (apple([]), Fruit("apple")):
        with pytest.raises(AttributeError, match="weight"):
            one.weight  # type: ignore[attr-defined] # noqa: B018
