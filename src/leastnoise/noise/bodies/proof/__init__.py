"""Proofs: δ(ε) in balls: bodies."""
