"""Proofs of δ(ε) in balls, for noise whose density depends on the length alone.

| file | proves |
|---|---|
| `spherical_laplace` | the l2 mechanism |
| `generalized_gamma` | generalized gamma noise in several dimensions |
| `generalized_gamma_curve` | the curve on which its privacy loss is ε |
| `generalized_gamma_line` | generalized gamma noise in one dimension |
| `cosine_law` | the law of an angle to the shift, for the curve |
"""
