"""The search for noise: calibrate families, compare them, and choose the best."""
