"""A small language of row expressions: values computed from one row, or over the rows of a unit.

An expression is parsed and checked before any row is read. It means the same on every engine and
never fails: where it has no value, the result is NULL.
"""
