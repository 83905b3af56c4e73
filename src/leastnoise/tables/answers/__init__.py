"""The ways to answer a query, each in one file; all else is a loop over answers.

| file | what it answers |
|---|---|
| `base` | the protocol |
| `plain` | queries of listed groups, with draws that they may share |
| `sums` | margins, cumulative counts, levels of keys: tables that add up |
| `unlisted` | groups that nobody listed, published from a noisy count on |
| `keys` | which keys there are, and no number |
| `quantiles` | quantiles, by chance or by a tree |
| `noisy`, `columns`, `single` | what answers with noise, or of one query, have in common |
| `kinds` | which of these answers a query |
"""
