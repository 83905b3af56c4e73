"""Parameters, densities, moments: common."""
