"""Laplace, truncated Laplace, Gaussian and flipped Huber noise."""
