"""Exact draws of noise that is fitted to a body (theory/bodies.md §1 to §6).

Whatever the body, its points are sums and products of independent uniforms, gammas and choices,
decided exactly. `Reals` are vectors of such numbers, in floats with a proved error and in balls
made of the same bits; `Source` is how the recipe of one body asks for points of another.

| file | what |
|---|---|
| `reals`, `scalars` | random reals, in vectors and alone; choices |
| `arrange` | vectors made of others |
| `plain`, `combined`, `signed` | recipes of bodies |
| `draw` | which recipe is whose, and the laws |
"""
