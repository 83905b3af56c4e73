"""What rooms share, by the same roles: step densities, closed forms, first guesses."""
