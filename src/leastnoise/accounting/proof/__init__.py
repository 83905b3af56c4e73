"""Proofs of what releases leak, one or many, in ball arithmetic.

| file | what |
|---|---|
| `composed` | one release: the family's own proof; several: which of the ways below serves |
| `by_losses` | by the law of their losses |
| `common_lattice` | the lattice that they share, from both sides; infinite losses |
| `moment_sum`, `moment_sum_laws` | l2 mechanisms and Gaussians, by moment generating functions |
| `sampled` | Poisson samples |
"""
