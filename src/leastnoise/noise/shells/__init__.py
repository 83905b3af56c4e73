"""Spherical densities in steps: the spherical staircase, and the best of them."""
