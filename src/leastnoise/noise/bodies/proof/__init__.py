"""Δ(ε) in balls: bodies."""
