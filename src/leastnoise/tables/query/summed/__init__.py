"""Blocks whose sums are published, too: which tables those are, and what a unit moves in each."""
