"""Ideal noise from fair bits: every draw is a fixed function of an infinite bit string.

| API | symbol | meaning |
|---|---|---|
| `Entropy` | | the bit string; `source.py` is the only door to randomness |
| `LazyReal` | U, Z, G | a random real, enclosed ever more tightly as its bits are drawn |
| `InverseSurvival` | Q | a magnitude is Q(U); in balls, and in floats with a proved error |
| `Sampler`, `Block` | x = X/g | a draw in grid units: float estimates, a proved error, balls |

Promised: if the bits are fair, the released number has exactly the law of the ideal noise, rounded
to the grid. Not promised: that the time of a draw is independent of its value (theory/release.md
§1, residual assumptions).
"""
