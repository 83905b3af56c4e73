"""Proofs: δ(ε) in balls: radial."""
