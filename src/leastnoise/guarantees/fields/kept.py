"""The types that fields store, by the names in `for_mypy`."""

from fractions import Fraction

FractionField = Fraction
FractionOrNoneField = Fraction | None
FractionsField = tuple[Fraction, ...]
FractionRowsField = tuple[tuple[Fraction, ...], ...]
IntsField = tuple[int, ...]
LimitField = int
