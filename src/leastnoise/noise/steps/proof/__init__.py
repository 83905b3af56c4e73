"""Proofs: δ(ε) in balls: steps."""
