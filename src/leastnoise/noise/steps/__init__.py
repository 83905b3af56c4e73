"""Step densities on the line (staircase, truncated staircase, Tulap) and laws on the integers."""
