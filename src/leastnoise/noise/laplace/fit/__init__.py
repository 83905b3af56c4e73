"""The law of least loss: laplace."""
