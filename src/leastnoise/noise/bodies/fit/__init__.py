"""The law of least loss: bodies."""
