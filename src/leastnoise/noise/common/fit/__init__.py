"""The law of least loss: common."""
