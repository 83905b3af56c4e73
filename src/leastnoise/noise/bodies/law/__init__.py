"""Laws in the shape of a body: their parameters, densities and moments."""
