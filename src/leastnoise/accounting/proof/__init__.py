"""Proofs of what releases leak, one or many, in ball arithmetic."""
