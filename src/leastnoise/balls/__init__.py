"""Rigorous arithmetic on python-flint: enclosures and bounds, unless a result is called approximate."""
