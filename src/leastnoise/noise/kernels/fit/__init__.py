"""The law of least loss: kernels."""
