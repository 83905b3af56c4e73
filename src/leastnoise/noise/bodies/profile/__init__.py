"""Quantiles of a coordinate: bodies."""
