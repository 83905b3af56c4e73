"""Proofs in ball arithmetic of the δ of releases, single or composed.

| file | content |
|---|---|
| `composed` | one release: the family's own proof; several: the choice among the methods below |
| `by_losses` | composition by the law of the privacy losses |
| `common_lattice` | a lattice for the losses of all parts, from both sides; infinite losses |
| `moment_sum`, `moment_sum_laws` | l2, Gaussian and Laplace noise, by moment generating functions |
| `sampled` | Poisson samples |
"""
