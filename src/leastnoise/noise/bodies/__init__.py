"""Noise in the shape of a body: K-norm, its staircases, and two-sided laws."""
