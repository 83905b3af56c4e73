"""Texts that results share: numbers with few digits, counts, guarantees and one-line summaries."""

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
"""Characters that Python calls printable, but that Unicode renders as nothing (its property
Default_Ignorable_Code_Point)."""
_JOINERS = "\u200c\u200d"  # shape the letters beside them; Persian words and emoji need them


def plain(text: str, *, lines: bool = False) -> str:
    r"""Make `text` safe to show: every character becomes visible, a blank or a joiner.

    Characters that control a terminal or a page become "?": escapes, marks that change the writing
    direction, unpaired surrogates. So do invisible characters such as Hangul fillers, because names
    that differ only in them would look the same. Joiners stay, as Persian words and emoji need
    them. Every text from outside leastnoise is passed to this function before a person sees it.
    Line ends become blanks, unless `lines` is True because leastnoise wrote them.

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
    r"""True if each character of `text` is visible or a blank.

    >>> is_seen("a b"), is_seen("a\u3164"), is_seen("a\x1b")
    (True, False, False)
    """
    return text.isprintable() and not _IGNORED.search(text)


def html(text: str) -> str:
    """Escape `text` for a page, and make it safe with `plain`.

    >>> html("<b>1m")
    '&lt;b&gt;?1m'
    """
    return escape(plain(text))


def line(name: str, text: str) -> str:
    """Format `<name: text>` with `plain`, cut to 120 characters.

    >>> line("Plan", "2 queries")
    '<Plan: 2 queries>'
    """
    shown = plain(f"<{name}: {text}")
    return f"{shown}>" if len(shown) < _LONGEST else f"{shown[: _LONGEST - 2]}…>"


def number(value: Fraction | float) -> str:
    """Format a number with four significant digits; from 1,000 to 10^9, as a whole number.

    >>> number(Fraction(1, 3)), number(1e-5), number(12345.678), number(2.5e12)
    ('0.3333', '1e-5', '12,346', '2.5e12')
    """
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if _LEAST_GROUPED <= abs(value) < _MOST_GROUPED:
        return f"{round(value):,}"
    return _short(_rounded(value, ROUND_HALF_EVEN))


def is_number(text: str) -> bool:
    """True if the text of a table's cell is empty or a number as people write it.

    >>> is_number("±1,200.5"), is_number("60 %"), is_number(""), is_number("a")
    (True, True, True, False)
    """
    try:
        float(text.replace(",", "").lstrip("±").rstrip("× %"))
    except ValueError:
        return not text
    return True


def tenths(value: float, *, digits: int, comma: Literal["", ","] = "") -> str:
    """Format a published number: to tenths from 100 on, with `digits` significant digits below.

    From 10^15 on numbers have an exponent, because floats have no tenths there.

    >>> tenths(1234.56, digits=3, comma=","), tenths(0.123456, digits=3), tenths(1e15, digits=3)
    ('1,234.6', '0.123', '1e+15')
    """
    return f"{value:{comma}.1f}" if 100 <= abs(value) < 10**15 else f"{value:.{digits}g}"


def format_for_page(value: float) -> str:
    """Format a number like `tenths`, without tenths if whole, and with typographic signs.

    >>> [format_for_page(number) for number in (-1234.5, 7.0, 0.12345, float("-inf"))]
    ['−1,234.5', '7', '0.1235', '−∞']
    """
    if not math.isfinite(value):
        return "–" if math.isnan(value) else ("∞" if value > 0 else "−∞")
    whole = value == round(value) and abs(value) < 10**15
    text = f"{round(value):,}" if whole else tenths(value, digits=4, comma=",")
    return text.replace("-", "−")


def round_up(value: Fraction | float, *, digits: int = _DIGITS) -> str:
    """Format `value` rounded up to `digits` <= 4 digits: a stated budget is never too small.

    >>> round_up(Fraction(2, 3)), round_up(Fraction(1, 10**5)), round_up(0.0)
    ('0.6667', '1e-5', '0')
    """
    return _short(_rounded(value, ROUND_CEILING, digits=digits))


def round_down(value: Fraction | float) -> str:
    """Format `value` rounded down to four digits, so that a stated lower bound holds.

    >>> round_down(Fraction(2, 3)), round_down(48.49999)
    ('0.6666', '48.49')
    """
    return _short(_rounded(value, ROUND_FLOOR))


def format_guarantee(epsilon: Fraction, delta: Fraction, rho: Fraction | None = None) -> str:
    """Format the guarantee (ε, δ) as people write it, rounded up; ρ comes first if it is given.

    >>> format_guarantee(Fraction(1), Fraction(1, 10**8))
    '(1, 1e-8)-DP'
    >>> format_guarantee(Fraction(1, 2), Fraction(0))
    '0.5-DP'
    >>> format_guarantee(Fraction(199454, 10**5), Fraction(1, 10**6), Fraction(1, 10))
    '0.1-zCDP, which is (1.995, 1e-6)-DP'
    """
    if rho is not None:
        return f"{round_up(rho)}-zCDP, which is {format_guarantee(epsilon, delta)}"
    if not delta:
        return f"{round_up(epsilon)}-DP"
    return f"({round_up(epsilon)}, {round_up(delta)})-DP"


def describe_protection(relation: str, unit: str) -> str:
    """A sentence for people that says which change of the table is hidden.

    >>> describe_protection("add-remove", "person")
    'Protected: the presence or absence of any one person.'
    >>> print(describe_protection("replace-one", "person"))
    Protected: all data of any one person, but not the total number of such units.
    """
    if relation == "add-remove":
        return f"Protected: the presence or absence of any one {unit}."
    return f"Protected: all data of any one {unit}, but not the total number of such units."


def name_neighbours(relation: str, unit: str, *, by_row: bool) -> tuple[str, str]:
    """Phrases for a table and for its neighbour, whose probabilities of a result are compared.

    >>> name_neighbours("add-remove", "person", by_row=False)
    ('with the rows of any one person', 'without them')
    >>> name_neighbours("replace-one", "stay", by_row=True)
    ('with any one stay', 'with other values in its place')
    """
    present = f"with any one {unit}" if by_row else f"with the rows of any one {unit}"
    if relation == "add-remove":
        return present, "without it" if by_row else "without them"
    return present, f"with other values in {'its' if by_row else 'their'} place"


def describe_limits(what: str, low: Fraction, high: Fraction) -> str:
    """A sentence for people that states a column's bounds.

    >>> describe_limits("income", Fraction(0), Fraction(150_000))
    'Values of income below 0 count as 0, and values above 150,000 as 150,000.'
    >>> describe_limits("x", Fraction(-1), Fraction(1))
    'Values of x below −1 count as −1, and values above 1 as 1.'
    """
    least, most = (f"{float(end):,.15g}".replace("-", "−") for end in (low, high))
    return f"Values of {what} below {least} count as {least}, and values above {most} as {most}."


def count_noun(count: int, singular: str, plural: str | None = None) -> str:
    """Format a count with its noun.

    >>> count_noun(1, "query", "queries"), count_noun(1200, "entry", "entries")
    ('1 query', '1,200 entries')
    >>> count_noun(0, "charge")
    '0 charges'
    """
    return f"{count:,} {singular if count == 1 else plural or f'{singular}s'}"


def name_release(index: int, releases: int) -> str:
    """Name a release by its number in a series.

    >>> name_release(3, 52)
    'release 3 of 52'
    """
    return f"release {index:,} of {releases:,}"


def list_names(names: Collection[str], *, most: int = 4, last: str = "") -> str:
    """Join names by commas; of more than `most` names, only the first and "…".

    A list of all names has the conjunction `last`, if it is given.

    >>> list_names(["a", "b"]), list_names(list("abcdef")), list_names(["a", "b"], last="and")
    ('a, b', 'a, b, c, d, …', 'a and b')
    """
    shown = list(names)
    if last and len(shown) <= most:
        return join_names(shown, last)
    return ", ".join([*shown[:most], *(["…"] if len(shown) > most else [])])


def join_names(names: Sequence[str], last: str = "and") -> str:
    """Join one or more names by commas and a conjunction.

    >>> join_names(["sum"]), join_names(["count", "sum", "mean"]), join_names(["a", "b"], "or")
    ('sum', 'count, sum and mean', 'a or b')
    """
    return f" {last} ".join(filter(None, (", ".join(names[:-1]), names[-1])))


def sensitivity(value: object) -> str:
    """Format a sensitivity: its class, with the bound if it has one.

    >>> from leastnoise.guarantees.sensitivity import L2
    >>> sensitivity(L2("0.5"))
    'L2(0.5)'
    """
    name, bound = type(value).__name__, getattr(value, "bound", None)
    return f"{name}({round_up(bound)})" if isinstance(bound, Fraction) else name


def _rounded(value: Fraction | float, rounding: str, *, digits: int = _DIGITS) -> Decimal:
    exactly = Fraction(value)
    context = Context(prec=digits, rounding=rounding)
    return context.divide(Decimal(exactly.numerator), Decimal(exactly.denominator))


def _short(value: Decimal) -> str:
    if _LEAST_GROUPED <= abs(value) < _MOST_GROUPED:
        return f"{int(value):,}"  # the value is whole, as it has four digits
    return _EXPONENT.sub(lambda match: "e" + match[1].strip("+"), f"{float(value):.{_DIGITS}g}")
