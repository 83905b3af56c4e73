"""Enclosures of δ(ε) for sums of Gaussian kernels."""
