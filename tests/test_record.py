"""Records convert each argument once, and are otherwise dataclasses."""

from __future__ import annotations

import dataclasses
import inspect
import pickle
from fractions import Fraction

import pytest

from leastnoise._record import (
    derived,
    field,
    list_arguments,
    multiply,
    optional,
    record,
    takes,
    whole,
)
from leastnoise.errors import InvalidArgument
from leastnoise.guarantees.exact import Exact, exact


def _steps(steps: tuple[Exact, ...], *, name: str) -> tuple[Fraction, ...]:
    return tuple(exact(step, name=name) for step in steps)


def _at_most_size(part: Exact, *, name: str, record: Sample) -> Fraction:
    number = exact(part, name=name)
    if number > record.size:
        raise InvalidArgument(name=name, value=str(part), expected=f"{name} <= {record.size}")
    return number


@record()
class Sample:
    size: int = field(converter=whole())
    part: Fraction = field(converter=takes(_at_most_size, of_record=True))
    step: Fraction | None = field(converter=optional(takes(exact, name="pace")), default=None)
    note: str = ""
    rest: Fraction = derived(lambda sample: sample.size - sample.part)

    def _check_together(self) -> None:
        if self.step is not None and self.step > self.rest:
            raise InvalidArgument(name="step", value=str(self.step), expected="step <= rest")


def test_arguments_are_converted_and_what_follows_from_them_is_kept() -> None:
    sample = Sample(size=3, part="0.5")
    assert (sample.part, sample.step, sample.rest) == (Fraction(1, 2), None, Fraction(5, 2))
    assert dataclasses.replace(sample, part=1) == Sample(size=3, part=Fraction(1))
    assert pickle.loads(pickle.dumps(sample)) == sample
    with pytest.raises(dataclasses.FrozenInstanceError):
        sample.size = 4  # pyright: ignore[reportAttributeAccessIssue]


def test_a_signature_says_what_is_taken() -> None:
    taken = inspect.signature(Sample).parameters
    spelled = {name: item.annotation for name, item in taken.items()}
    assert spelled == {"size": "int", "part": "Exact", "step": "Exact | None", "note": "str"}


@pytest.mark.parametrize(
    ("wrong", "name"),
    [({"size": 0}, "size"), ({"part": 4}, "part"), ({"step": "x"}, "pace"), ({"step": 9}, "step")],
)
def test_what_is_refused_is_named(wrong: dict[str, object], name: str) -> None:
    with pytest.raises(InvalidArgument) as caught:
        Sample(**({"size": 3, "part": 1} | wrong))  # pyright: ignore[reportArgumentType]
    assert caught.value.name == name


@record()
class Marked:
    width: Fraction = field(converter=takes(exact), scales=True)
    steps: tuple[Fraction, ...] = field(converter=takes(_steps), scales=True)
    count: int = field(converter=whole(), first_in_json=True)
    inner: Marked | None = None
    total: Fraction = derived(lambda marked: marked.count * marked.width)


def test_arguments_have_their_types_in_the_order_of_json() -> None:
    assert dict(list_arguments(Marked)) == {
        "count": int,
        "width": Fraction,
        "steps": tuple[Fraction, ...],
        "inner": Marked | None,
    }


def test_what_scales_is_multiplied_and_nothing_else() -> None:
    result = multiply(Marked(width=1, steps=(1, 2), count=3), Fraction(5))
    assert result == Marked(width=5, steps=(5, 10), count=3)
    assert result.total == 15
