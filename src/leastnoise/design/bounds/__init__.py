"""Proved lower bounds: on the loss of any noise, and on the variance of any additive noise."""
