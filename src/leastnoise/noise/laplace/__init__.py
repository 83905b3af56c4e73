"""Laplace noise, i.i.d. on the coordinates, and cut off."""
