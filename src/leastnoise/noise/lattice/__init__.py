"""Laws given by their masses on a lattice: optimal, cactus and discrete-staircase noise."""
