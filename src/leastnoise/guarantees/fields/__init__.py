"""Types of fields that take more than they keep, such as any exact number for a `Fraction`.

A type checker has to know both. pyright reads what a field takes off its converter, and these are
the types that it keeps. mypy knows no converters, and is shown descriptors: it reads what a field
takes off `__set__`.
"""

MYPY = False  # mypy alone takes a constant of this name for true

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
