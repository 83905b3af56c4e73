"""Rigorous arithmetic on python-flint: enclosures and bounds, unless called approximate."""
