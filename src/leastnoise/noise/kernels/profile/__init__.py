"""Profiles δ(ε) in floats, and quantiles of a coordinate: kernels."""
