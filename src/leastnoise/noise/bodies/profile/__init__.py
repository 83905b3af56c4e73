"""Quantiles of a coordinate of noise in the shape of a body, in floats."""
