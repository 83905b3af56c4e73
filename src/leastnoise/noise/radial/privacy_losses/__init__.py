"""Losses on a lattice, better known than from δ(ε): radial."""
