"""Sums of Gaussian kernels of one width: Gaussian mixtures and quasi-Gaussian noise."""
