"""Parameters, densities, moments: bodies."""
