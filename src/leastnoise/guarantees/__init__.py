"""Budgets, sensitivities, and intervals for proved numbers.

| API | symbol | meaning |
|---|---|---|
| `Budget.epsilon` | ε | log of the largest likelihood ratio |
| `Budget.delta` | δ | probability with which that ratio may be exceeded |
| `Sensitivity.bound` | Δ | largest shift of the query between neighbours |
| `Sensitivity.body` | K | the hull of all shifts (`guarantees.bodies`) |
| `Interval` | [lo, hi] | an enclosure, rounded outward |
"""
