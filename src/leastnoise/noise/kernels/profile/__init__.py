"""δ(ε) and quantiles of sums of Gaussian kernels, in floats."""
