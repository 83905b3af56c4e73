"""The law of least loss: lattice."""
