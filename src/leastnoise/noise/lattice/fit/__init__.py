"""Which law on a lattice serves a budget."""
