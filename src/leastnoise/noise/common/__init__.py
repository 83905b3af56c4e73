"""Parts that several kinds of noise share: fits, laws, profiles and proofs."""
