"""Parameters, densities, moments: laplace."""
