"""Parameters, densities, moments: shells."""
