"""Rigorous arithmetic on python-flint: every result is an enclosure, every rounding is outward."""
