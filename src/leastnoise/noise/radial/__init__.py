"""Noise whose density depends on the length alone, smoothly: l2 and generalized gamma."""
