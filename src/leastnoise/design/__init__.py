"""Noise that is designed by optimisation, and proved lower bounds on the loss of any noise.

| API | symbol | meaning |
|---|---|---|
| `Problem.cells` | m | lattice points in one sensitivity, spacing h = Δ/m |
| `Witness.multipliers` | λ_j | price of δ at the shift jh |
| `Witness.prices` | ψ_{j,i} | price of exposing the point ih at the shift jh, in [0, λ_j] |
| `RadialWitness.prices` | J_l | price of exposing a vector, by length and angle to the shift |
| `BodyWitness.coordinates` | j | of so many numbers the volume of all shifts is known |
| `BodyWitness.times` | n | added up so many times |
| `LowerBound.value` | | no noise has a smaller loss, for sensitivity 1 |
| `Design` | | a law on the lattice, and the bound that says how good it is |

`programs` searches for noise, in floats; `bounds` proves how little loss any noise can have;
`strategies` finds sums of coordinates that get noise.

What is proved: every `LowerBound` (`verify` recomputes it, in whole numbers or in balls), and, by
the proofs of its room, the guarantee of every law. What is not: that a solver's law is the best;
the gap to the bound says how far from it a law can be.
"""
