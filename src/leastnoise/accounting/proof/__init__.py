"""Proofs of what releases leak, one or many, in ball arithmetic.

| file | what |
|---|---|
| `single` | one release: asks the family's own proof, at rising precision |
| `composed` | several: which of the ways below serves |
| `by_losses`, `common_lattice` | by the law of their losses, on lattices from both sides |
| `moment_sum`, `moment_sum_laws` | l2 mechanisms and Gaussians, by moment generating functions |
| `sampled` | Poisson samples |
| `at_infinity`, `work` | infinite losses; what a proof may cost |
"""
