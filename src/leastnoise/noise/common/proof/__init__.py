"""Proofs: δ(ε) in balls: common."""
