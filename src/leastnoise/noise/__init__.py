"""Noise families, one subpackage for each kind: law, profile, proof, losses, sampler, fit.

`families.py` lists the functions of each family; docs/new-family.md explains how to add a family.

| API | symbol | meaning |
|---|---|---|
| `scale` | σ, b (laplace, truncated-laplace) | the size of the noise; of step noise usually Δ |
| `radius` | R, a | where the density ends, in scales |
| `decay` | usually ε | each step is e^−decay times as high as the step before; so are kernels |
| `gamma` (staircases) | γ | where the first step ends, in scales |
| `cells`, `core` (geometric) | c, a | lattice points in a step; those >= 0 in the top step |
| `alpha`, `gamma` (flipped-huber) | α, γ | end of the Laplace body, σ of the tail, in scales |
| `alpha`, `p` (generalized-gamma) | α, p | the radius r in scales has a density ∝ r^α e^(−r^p) |
| `edges`, `weights` (optimal-radial) | e_j, h_j | where steps end, in scale/cells; their heights |
| `body`, `of` (laws on bodies) | K, T | the shifts that are hidden (`guarantees.bodies`) |
| `branches`, `shares` (agreeing) | b_l, w_l | children of a node; what a row costs on each level |
| `core` (two-sided laws) | a, b | where the density stops being flat in P and Q, in scales |
| `dimension` | d | number of coordinates drawn together |
| `variance`, `mean_abs` | Var Xᵢ, E|Xᵢ| | per coordinate; for laws on bodies, coordinates' means |
| `mse`, `mae` | E‖X‖₂², E‖X‖₁ | totals over the coordinates |
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
