"""Exact draws: steps."""
