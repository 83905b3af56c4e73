"""Δ(ε) in balls: laplace."""
