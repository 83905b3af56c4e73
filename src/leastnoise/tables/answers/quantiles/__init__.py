"""Quantiles, chosen at random or read off a tree of noisy counts.

| file | what |
|---|---|
| `layout` | the candidates, and the limits of a unit |
| `answer` | the answer: its noise, found and read back |
| `plan` | the plan of quantiles, for both methods |
| `publish` | from exact counts to published quantiles |
"""
