"""Quantiles, chosen at random or read off a tree of noisy counts.

| file | contents |
|---|---|
| `layout` | the candidates, and the limits of a unit |
| `answer` | the answer: its noise, found and read back |
| `plan` | the plan of quantiles, for both methods |
| `by_chance` | quantiles that are chosen by permute-and-flip |
| `by_tree` | quantiles that are read off a tree of noisy counts |
| `publish` | from exact counts to published quantiles |
"""
