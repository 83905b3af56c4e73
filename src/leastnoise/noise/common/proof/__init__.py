"""Δ(ε) in balls: common."""
