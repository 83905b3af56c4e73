"""The law of least loss: radial."""
