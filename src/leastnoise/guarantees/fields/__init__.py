"""Types of record fields that convert values: they accept any exact number and store a Fraction.

A type checker has to know both types, the accepted and the stored. pyright reads the accepted type
from the converter, so these names are the stored types. mypy doesn't know converters, so it sees
descriptors instead, and reads the accepted type from `__set__`.
"""

MYPY = False  # only mypy takes a constant of this name for true

if MYPY:
    from leastnoise.guarantees.fields.for_mypy import FractionField as FractionField
    from leastnoise.guarantees.fields.for_mypy import FractionOrNoneField as FractionOrNoneField
    from leastnoise.guarantees.fields.for_mypy import FractionRowsField as FractionRowsField
    from leastnoise.guarantees.fields.for_mypy import FractionsField as FractionsField
    from leastnoise.guarantees.fields.for_mypy import IntsField as IntsField
    from leastnoise.guarantees.fields.for_mypy import LimitField as LimitField
else:
    from leastnoise.guarantees.fields.kept import FractionField as FractionField
    from leastnoise.guarantees.fields.kept import FractionOrNoneField as FractionOrNoneField
    from leastnoise.guarantees.fields.kept import FractionRowsField as FractionRowsField
    from leastnoise.guarantees.fields.kept import FractionsField as FractionsField
    from leastnoise.guarantees.fields.kept import IntsField as IntsField
    from leastnoise.guarantees.fields.kept import LimitField as LimitField
