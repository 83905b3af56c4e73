"""Parameters, densities, moments: steps."""
