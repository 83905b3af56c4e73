"""How results say in one line what they are, with no more digits than people read."""

from __future__ import annotations

import math
import re
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Context, Decimal
from fractions import Fraction
from html import escape
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

_DIGITS = 4
_LONGEST = 120  # characters of a line
_EXPONENT = re.compile(r"e([+-])0*")
_LEAST_GROUPED, _MOST_GROUPED = 1000, 10**9
_IGNORED = re.compile(
    r"[\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\u3164\ufe00-\ufe0f\uffa0"
    r"\U000e0100-\U000e01ef]"
)
"""What Python calls printable and Unicode says to show as nothing: Default_Ignorable_Code_Point."""
_JOINERS = "\u200c\u200d"  # shape the letters beside them, as Persian words and emoji need


def plain(text: str, *, lines: bool = False) -> str:
    r"""Return `text` as it is safe to show: each character is one that is seen, or a blank.

    What a terminal or a page would obey becomes "?": escapes that move the cursor or rename the
    window, marks that turn the direction of letters, half of a surrogate pair; and so does what is
    shown as nothing, as a Hangul filler is, since names that differ in it alone would look the
    same. All text that isn't leastnoise's own goes through here on its way to a person, line ends
    too unless `lines` says that they are ours.

    >>> plain("a\x1b[2Jb\u202ec\nd")
    'a?[2Jb?c d'
    """
    if is_seen(text):
        return text
    return "".join(
        letter
        if is_seen(letter) or letter in _JOINERS or (lines and letter == "\n")
        else " "
        if letter.isspace()
        else "?"
        for letter in text
    )


def is_seen(text: str) -> bool:
    r"""Return whether each character of `text` is shown as one.

    >>> is_seen("a b"), is_seen("a\u3164"), is_seen("a\x1b")
    (True, False, False)
    """
    return text.isprintable() and not _IGNORED.search(text)


def html(text: str) -> str:
    r"""Return `text` as part of a page: `plain`, and with no mark-up of its own.

    >>> html("<b>\x9b1m")
    '&lt;b&gt;?1m'
    """
    return escape(plain(text))


def line(name: str, text: str) -> str:
    """Return `<name: text>`, cut to 120 characters, as `plain`.

    >>> line("Plan", "2 queries")
    '<Plan: 2 queries>'
    """
    shown = plain(f"<{name}: {text}")
    return f"{shown}>" if len(shown) < _LONGEST else f"{shown[: _LONGEST - 2]}…>"


def number(value: Fraction | float) -> str:
    """Return about `value`, in four digits or its whole part.

    >>> number(Fraction(1, 3)), number(1e-5), number(12345.678), number(2.5e12)
    ('0.3333', '1e-5', '12,346', '2.5e12')
    """
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if _LEAST_GROUPED <= abs(value) < _MOST_GROUPED:
        return f"{round(value):,}"
    return _short(_rounded(value, ROUND_HALF_EVEN))


def is_number(text: str) -> bool:
    """Whether a table's cell is a number, as people write it, or empty.

    >>> is_number("±1,200.5"), is_number("60 %"), is_number(""), is_number("a")
    (True, True, True, False)
    """
    try:
        float(text.replace(",", "").lstrip("±").rstrip("× %"))
    except ValueError:
        return not text
    return True


def tenths(value: float, *, digits: int, comma: Literal["", ","] = "") -> str:
    """Return a published number: tenths of hundreds and more, so many `digits` of what is small.

    Numbers from 10^15 on are written with an exponent: floats tell no tenths there.

    >>> tenths(1234.56, digits=3, comma=","), tenths(0.123456, digits=3), tenths(1e15, digits=3)
    ('1,234.6', '0.123', '1e+15')
    """
    return f"{value:{comma}.1f}" if 100 <= abs(value) < 10**15 else f"{value:.{digits}g}"


def shown(value: float) -> str:
    """A number on a page: as `tenths`, without tenths if it is whole, with typographic signs.

    >>> shown(-1234.5), shown(7.0), shown(0.12345), shown(float("-inf"))
    ('−1,234.5', '7', '0.1235', '−∞')
    """
    if not math.isfinite(value):
        return "–" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    whole = value == round(value) and abs(value) < 10**15
    text = f"{round(value):,}" if whole else tenths(value, digits=4, comma=",")
    return text.replace("-", "−")


def at_least(value: Fraction | float, *, digits: int = _DIGITS) -> str:
    """Return `value` rounded up, to four digits: what is stated of a budget holds as it is read.

    >>> at_least(Fraction(2, 3)), at_least(Fraction(1, 10**5)), at_least(0.0)
    ('0.6667', '1e-5', '0')
    """
    return _short(_rounded(value, ROUND_CEILING, digits=digits))


def at_most(value: Fraction | float) -> str:
    """Return `value` rounded down to four digits: a lower bound holds as it is read.

    >>> at_most(Fraction(2, 3)), at_most(48.49999)
    ('0.6666', '48.49')
    """
    return _short(_rounded(value, ROUND_FLOOR))


def private(epsilon: Fraction, delta: Fraction) -> str:
    """Return the guarantee as people write it, rounded up.

    >>> private(Fraction(1), Fraction(1, 10**8)), private(Fraction(1, 2), Fraction(0))
    ('(1, 1e-8)-DP', '0.5-DP')
    """
    if not delta:
        return f"{at_least(epsilon)}-DP"
    return f"({at_least(epsilon)}, {at_least(delta)})-DP"


def protected(relation: str, unit: str) -> str:
    """Return what neighbouring tables differ in, in a sentence for people.

    >>> protected("add-remove", "person")
    'Protected: the presence or absence of any one person.'
    >>> protected("replace-one", "person")
    'Protected: all that is said of any one person, but not how many there are.'
    """
    if relation == "add-remove":
        return f"Protected: the presence or absence of any one {unit}."
    return f"Protected: all that is said of any one {unit}, but not how many there are."


def limited(what: str, low: Fraction, high: Fraction) -> str:
    """Return what bounds do to values, in a sentence.

    >>> limited("income", Fraction(0), Fraction(150_000)), limited("x", Fraction(-1), Fraction(1))
    ('Values of income are limited to 0–150,000.', 'Values of x are limited to −1 to 1.')
    """
    ends = [f"{float(end):,.6g}".replace("-", "−") for end in (low, high)]
    return f"Values of {what} are limited to {(' to ' if low < 0 else '–').join(ends)}."


def counted(count: int, one: str, many: str | None = None) -> str:
    """Return a count with its noun.

    >>> counted(1, "query", "queries"), counted(1200, "entry", "entries"), counted(0, "charge")
    ('1 query', '1,200 entries', '0 charges')
    """
    return f"{count:,} {one if count == 1 else many or f'{one}s'}"


def one_of(place: int, releases: int) -> str:
    """Return which release of a series it is.

    >>> one_of(3, 52)
    'release 3 of 52'
    """
    return f"release {place:,} of {releases:,}"


def listed(names: Collection[str], *, most: int = 4) -> str:
    """Return the names one after another, and where there are many the first of them.

    >>> listed(["a", "b"]), listed(list("abcdef"))
    ('a, b', 'a, b, c, d, …')
    """
    shown = list(names)
    return ", ".join([*shown[:most], *(["…"] if len(shown) > most else [])])


def in_turn(names: Sequence[str], last: str = "and") -> str:
    """Return one or more names as a sentence has them.

    >>> in_turn(["sum"]), in_turn(["count", "sum", "mean"]), in_turn(["a", "b"], "or")
    ('sum', 'count, sum and mean', 'a or b')
    """
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def sensitivity(value: object) -> str:
    """Return a sensitivity as it is written: its class, with the bound if it has one.

    >>> from leastnoise.guarantees.sensitivity import L2
    >>> sensitivity(L2("0.5"))
    'L2(0.5)'
    """
    name, bound = type(value).__name__, getattr(value, "bound", None)
    return f"{name}({at_least(bound)})" if isinstance(bound, Fraction) else name


def _rounded(value: Fraction | float, rounding: str, *, digits: int = _DIGITS) -> Decimal:
    exactly = Fraction(value)
    context = Context(prec=digits, rounding=rounding)
    return context.divide(Decimal(exactly.numerator), Decimal(exactly.denominator))


def _short(value: Decimal) -> str:
    if _LEAST_GROUPED <= abs(value) < _MOST_GROUPED:
        return f"{int(value):,}"  # whole, as it has four digits
    return _EXPONENT.sub(lambda found: "e" + found[1].strip("+"), f"{float(value):.{_DIGITS}g}")
