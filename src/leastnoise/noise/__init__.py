"""Noise families: parameters, densities and moments, one file a family.

| API | symbol | meaning |
|---|---|---|
| `scale` | σ (gaussian, l2), b (laplace) | multiplies the noise |
| `dimension` | d | number of coordinates drawn together |
| `variance`, `mean_abs` | Var Xᵢ, E|Xᵢ| | per coordinate |
| `mse`, `mae` | E‖X‖₂², E‖X‖₁ | totals over the coordinates |
"""
