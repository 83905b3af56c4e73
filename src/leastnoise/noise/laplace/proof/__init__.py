"""Proofs: δ(ε) in balls: laplace."""
