"""δ(ε) of sums of Gaussian kernels, and quantiles of them, in floats."""
