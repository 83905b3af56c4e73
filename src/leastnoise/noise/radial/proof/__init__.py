"""Proofs of δ(ε) in balls, for noise whose density depends on the length alone.

| file | proves |
|---|---|
| `spherical_laplace` | the l2 mechanism |
| `generalized_gamma` | generalized gamma noise in several dimensions, along its `_curve` |
| `generalized_gamma_line` | the same in one |
| `cosine_law` | the law of an angle to the shift, for the curve |
"""
