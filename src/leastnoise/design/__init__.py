"""Noise that is designed by optimisation, and proved lower bounds on the loss of any noise.

| API | symbol | meaning |
|---|---|---|
| `Witness.cells` | m | lattice points per sensitivity Δ; their spacing is h = Δ/m |
| `Witness.multipliers` | λ_j | price of δ at the shift jh |
| `Witness.prices` | ψ_{j,i} | price of exposing the point ih at the shift jh, in [0, λ_j] |
| `RadialWitness.prices` | J_l | price of exposing a vector, by length and angle to the shift |
| `BodyWitness.coordinates` | j | numbers for which the volume of all shifts is known |
| `BodyWitness.times` | n | number of shifts that are added up |
| `LowerBound.value` | | no noise has a smaller loss, for sensitivity 1 |
| `Design` | | a law on the lattice, and a lower bound on the loss of any law |

`programs` searches for noise, in floats; `bounds` proves lower bounds on the loss of any noise.

Every `LowerBound` is proved (`verify` recomputes it, in integers or in balls), and so is the
guarantee of every law. It is not proved that a law found by a solver is the best. But its loss
exceeds the loss of the best law by at most its gap to the bound.
"""
