"""Budgets, sensitivities, and intervals for proved numbers.

| API | symbol | meaning |
|---|---|---|
| `Budget.epsilon` | ε | P(S) <= e^ε·Q(S) + δ for all sets S of outputs, on neighbouring inputs |
| `Budget.delta` | δ | the largest excess P(S) − e^ε·Q(S) that is allowed |
| `Sensitivity.bound` | Δ | largest shift of the query between neighbours |
| `Sensitivity.body` | K | the hull of all shifts (`guarantees.bodies`) |
| `Interval` | [lo, hi] | an enclosure, rounded outward |
"""
