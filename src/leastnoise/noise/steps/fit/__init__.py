"""The law of least loss: steps."""
