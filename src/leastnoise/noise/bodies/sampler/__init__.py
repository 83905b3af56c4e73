"""Exact draws of noise in the shape of a body (theory/bodies.md §1 to §6).

A point of a body is computed from independent uniforms, normals, gammas and discrete choices. The
choices are exact. `Reals` are vectors of such random reals, in floats with a proved error and in
balls from the same bits. The functions that draw points of a body are its recipe. Through
`PointSource` the recipe of one body draws points of another.

| file | contents |
|---|---|
| `reals`, `scalars` | random reals, as vectors and single numbers; choices |
| `arrange` | vectors built from other vectors |
| `plain`, `combined`, `signed` | recipes of bodies |
| `draw` | the recipe of each body, and samplers of the laws |
"""
