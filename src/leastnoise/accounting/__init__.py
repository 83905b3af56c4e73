"""What several releases cost together.

| API | symbol | meaning |
|---|---|---|
| `Composition.delta(epsilon=)` | δ(ε) | the smallest δ of all releases together at ε |
| `Composition.epsilon(delta=)` | ε(δ) | the smallest ε at δ |
"""
