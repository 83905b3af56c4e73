"""Gaussian noise."""
