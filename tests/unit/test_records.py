"""Classes of named fields are those of `dataclasses`, except that their import compiles nothing.

What it proves: objects of both decorators are made, compared, hashed, printed and copied in the same way.
"""

from __future__ import annotations

import copy
import dataclasses
import pickle
import subprocess
import sys
from collections.abc import Callable
from typing import Any, ClassVar

import pytest

from faradisc import records

COMPILED = """
import sys
from faradisc.records import dataclass
compiled = []
sys.addaudithook(lambda event, given: event == "compile" and compiled.append(given))
for number in range(5):
    @dataclass(frozen=True, slots=True)
    class Pair:
        first: int
        second: int = 2
assert Pair.__doc__ and hash(Pair(1)) == hash(Pair(1)) and Pair(1) == Pair(1) != Pair(2), "used"
print(len(compiled))
"""


@records.dataclass(frozen=True, slots=True)
class Point:
    x: int
    near: list[Point] = records.field(default_factory=list)


def made(decorator: Callable[..., Any]) -> tuple[Any, Any, Any]:
    """Returns a class with all kinds of fields, one that inherits from it, and one without fields."""

    @decorator(slots=True, unsafe_hash=True)
    class Base:
        kind: ClassVar[str] = "base"
        a: int
        b: str = "b"
        items: list[int] = records.field(default_factory=list, compare=False)
        secret: str = records.field(default="s", repr=False, kw_only=True)
        double: int = records.field(init=False)
        fixed: int = records.field(init=False, default=7)
        filled: list[int] = records.field(init=False, default_factory=list, compare=False)

        def __post_init__(self) -> None:
            self.double = 2 * self.a

    @decorator(slots=True, kw_only=True)
    class Derived(Base):
        c: int = 0

    @decorator(frozen=True, slots=True)
    class Empty:
        """Has no fields."""

    return Base, Derived, Empty


OURS, THEIRS = made(records.dataclass), made(dataclasses.dataclass)
ARGUMENTS: list[tuple[int, tuple[Any, ...], dict[str, Any]]] = [
    (0, (1,), {}),
    (0, (1, "x", [3]), {"secret": "t"}),
    (0, (), {"a": 5, "items": []}),
    (1, (2,), {"c": 3}),
    (2, (), {}),
]


@pytest.mark.parametrize(("number", "given", "named"), ARGUMENTS)
def test_objects_are_those_of_dataclasses(number: int, given: tuple[Any, ...], named: dict[str, Any]) -> None:
    ours, theirs = (classes[number](*given, **named) for classes in (OURS, THEIRS))
    assert repr(ours) == repr(theirs)
    assert dataclasses.asdict(ours) == dataclasses.asdict(theirs)
    assert type(ours).__match_args__ == type(theirs).__match_args__
    assert ours == copy.copy(ours) and ours != theirs and theirs != ours
    assert (type(ours).__hash__ is None) == (type(theirs).__hash__ is None)
    if type(ours).__hash__ is not None:
        assert hash(ours) == hash(copy.copy(ours))


@pytest.mark.parametrize(("given", "named"), [((), {}), ((1, 2, 3, 4), {}), ((1,), {"double": 2})])
def test_wrong_arguments_are_rejected_in_the_same_words(
    given: tuple[Any, ...], named: dict[str, Any]
) -> None:
    texts = []
    for base in (OURS[0], THEIRS[0]):
        with pytest.raises(TypeError) as error:
            base(*given, **named)
        texts.append(str(error.value))
    assert texts[0] == texts[1]


@pytest.mark.parametrize("difference", [{"a": 2}, {"b": "c"}, {"secret": "t"}, {"items": [1]}])
def test_equality_is_of_the_compared_fields(difference: dict[str, Any]) -> None:
    ours, theirs = (base(1) for base in (OURS[0], THEIRS[0]))
    assert (dataclasses.replace(ours, **difference) == ours) == (
        dataclasses.replace(theirs, **difference) == theirs
    )


def test_each_object_has_lists_of_its_own() -> None:
    first, second = OURS[0](1), OURS[0](1)
    assert first.items is not second.items
    assert first.filled is not second.filled


def test_objects_that_contain_themselves_have_a_text() -> None:
    point = Point(1)
    point.near.append(point)
    assert repr(point) == "Point(x=1, near=[...])"


def test_objects_can_be_pickled() -> None:
    assert pickle.loads(pickle.dumps(Point(1, [Point(2)]))) == Point(1, [Point(2)])


def test_only_a_class_with_objects_is_compiled() -> None:
    program = [sys.executable, "-c", COMPILED]
    printed = subprocess.run(program, capture_output=True, text=True, check=True)
    assert printed.stdout == "1\n", "the __init__ of the last class"
