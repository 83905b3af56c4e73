"""Flipped Huber noise."""
