"""δ(ε) of a noise law under its worst shift, in floats: one file a shape. `certify` proves it.

| API | symbol | meaning |
|---|---|---|
| `log_delta` | ln δ(ε) | log of the hockey-stick divergence at the worst shift |
| `shift_ratio` | Δ/σ, Δ/b | worst shift in units of the scale |
| `kappa` | κ = d−1−α | power of the density's pole at 0 (generalized-gamma) |
| `corner` | u = α/γ | end of the Laplace body in units of the tail's σ (flipped-huber) |
| `excess` | Δ/σ − ε | how far the pure guarantee is above ε |
"""
