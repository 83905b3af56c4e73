"""An empirical auditor: violations of privacy that a mechanism's outputs alone can prove.

It runs the mechanism under test on two neighbouring inputs, and reports the claims that its outputs
refute at a stated error level. It proves violations, never privacy: `Finding.would_detect` states
which violations it would have found. It draws no randomness itself.

| API | symbol | meaning |
|---|---|---|
| `Claim` | ε, δ, Δ, F | the claimed budget, sensitivity and law of the noise |
| `inputs` | x, x' | two neighbouring inputs |
| `draws` | n | outputs drawn on each input |
| `error` | α | largest probability of any false finding in one audit |
| event | S | a set of outputs, chosen on one part of the draws and tested on the other |
| `lower`, `upper` | p₋, p₊ | Clopper–Pearson bounds on a probability, proved in balls |
"""
