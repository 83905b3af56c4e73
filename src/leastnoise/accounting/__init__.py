"""Composition: the privacy loss of several releases together.

| API | symbol | meaning |
|---|---|---|
| `Composition.delta(epsilon=)` | δ(ε) | the smallest δ of all releases together at ε |
| `Composition.epsilon(delta=)` | ε(δ) | the smallest ε at δ |
| `Composition.trade_off(alphas)` | T(α) | the smallest type II error for each type I error |
| `sampling_rate` | γ | probability of a record to be in a Poisson sample |
| `conversions` | ε₀, ρ, (α, τ), μ | implications between pure privacy, zCDP, RDP and GDP |
"""
