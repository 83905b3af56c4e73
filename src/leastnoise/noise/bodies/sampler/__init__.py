"""Exact draws of noise in the shape of a body (theory/bodies.md §1 to §6).

For every body, points are sums and products of independent uniforms, gammas and choices, which are
decided exactly. `Reals` are vectors of such numbers, in floats with a proved error and in balls
from the same bits. Through `PointSource` the recipe of one body draws points of another.

| file | contents |
|---|---|
| `reals`, `scalars` | random reals, as vectors and single numbers; choices |
| `arrange` | vectors built from other vectors |
| `plain`, `combined`, `signed` | recipes of bodies |
| `draw` | the recipe of each body, and samplers of the laws |
"""
