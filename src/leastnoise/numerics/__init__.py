"""Quadrature and searches in floats; proofs may use only `bisection`."""
