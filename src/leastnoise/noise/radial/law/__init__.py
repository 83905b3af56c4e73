"""Parameters, densities, moments: radial."""
