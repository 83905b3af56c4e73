"""Quadrature and searches in floats; proofs may use `bisection` alone."""
