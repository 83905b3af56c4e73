"""Mechanisms: from a proved certificate and exact values to numbers that are safe to publish.

| API | symbol | meaning |
|---|---|---|
| `Mechanism` | v ↦ g·round((v + X)/g) | a certificate that is ready for releases |
| `grid` | g | spacing of the released values: a power of two that depends on public numbers only |
| `ScaledIntegers` | v = T·2^(−bits) | the exact value of a query |
"""
