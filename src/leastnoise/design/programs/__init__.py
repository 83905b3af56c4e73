"""Searches for noise: linear programs over lattices and shells, ellipses, and stored designs."""
