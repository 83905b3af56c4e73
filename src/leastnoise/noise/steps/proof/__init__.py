"""Δ(ε) in balls: steps."""
