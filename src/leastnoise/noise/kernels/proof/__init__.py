"""Δ(ε) in balls: kernels."""
