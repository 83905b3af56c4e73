"""The types that fields store, under the same names as in `for_mypy`."""

from fractions import Fraction

FractionField = Fraction
FractionOrNoneField = Fraction | None
FractionsField = tuple[Fraction, ...]
FractionRowsField = tuple[tuple[Fraction, ...], ...]
IntsField = tuple[int, ...]
LimitField = int
