"""Composition: the privacy loss of several releases together.

| API | symbol | meaning |
|---|---|---|
| `Composition.delta(epsilon=)` | δ(ε) | the smallest δ of all releases together at ε |
| `Composition.epsilon(delta=)` | ε(δ) | the smallest ε at δ |
| `Composition.trade_off(alphas)` | T(α) | the smallest type II error at the type I error α |
| `sampling_rate` | γ | the probability that a Poisson sample contains a record |
| `conversions` | ε₀, ρ, (α, τ), μ | pure privacy, zCDP, RDP of order α, and GDP |
"""
