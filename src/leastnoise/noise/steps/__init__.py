"""Densities on the line in steps: staircase, cut off, Tulap, and on the whole numbers."""
