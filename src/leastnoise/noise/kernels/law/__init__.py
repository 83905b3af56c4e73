"""Parameters, densities, moments: kernels."""
