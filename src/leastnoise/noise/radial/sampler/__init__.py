"""Exact draws: radial."""
