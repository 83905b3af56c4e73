"""Parameters, densities, moments: lattice."""
