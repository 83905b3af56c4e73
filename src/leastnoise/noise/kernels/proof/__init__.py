"""Proofs: δ(ε) in balls: kernels."""
