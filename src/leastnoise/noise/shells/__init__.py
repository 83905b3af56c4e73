"""Spherical step densities: the spherical staircase, and the best step density."""
