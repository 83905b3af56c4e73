"""Fits, laws, profiles and proofs that several kinds of noise share."""
