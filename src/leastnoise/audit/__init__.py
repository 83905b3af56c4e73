"""An empirical auditor: what can be proved against a mechanism from its outputs alone.

It runs the mechanism under test on two neighbouring inputs and reports what its outputs refute, at
a stated error level. It proves violations, never privacy: that nothing was found says no more than
`Finding.would_detect` says. It draws no randomness itself.

| API | symbol | meaning |
|---|---|---|
| `Claim` | ε, δ, Δ, F | what is claimed: the budget, the sensitivity, the law of the noise |
| `inputs` | x, x' | two neighbouring inputs |
| `draws` | n | outputs drawn on each input |
| `error` | α | the most that any false finding of one audit is probable |
| event | S | a set of outputs, chosen on one part of the draws and tested on the other |
| `lower`, `upper` | p₋, p₊ | Clopper–Pearson bounds of a probability, proved in balls |
"""
