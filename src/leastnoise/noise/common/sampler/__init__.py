"""Exact draws: common."""
