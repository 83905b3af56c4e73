"""Exact draws: laplace."""
