"""Δ(ε) in balls: radial."""
