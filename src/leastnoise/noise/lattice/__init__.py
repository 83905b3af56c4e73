"""Laws by their masses on a lattice: optimal, cactus, the best on the whole numbers."""
