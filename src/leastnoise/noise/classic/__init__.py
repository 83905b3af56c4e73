"""Laplace and Gaussian noise, their cut-off and their cross: flipped Huber noise."""
