"""The ways to answer a query, each in one file; all else is a loop over answers.

| file | what |
|---|---|
| `base` | the protocol: an answer, what it is once noise is proved, and its parts of tables |
| `plain` | queries of listed groups, with draws that they may share |
| `sums` | margins, cumulative counts, levels of keys: tables that add up |
| `unlisted` | groups that nobody listed, published from a noisy count on |
| `keys` | which keys there are, and no number |
| `quantiles` | quantiles, by chance or by a tree |
| `noisy`, `columns`, `single` | what answers with noise, or to one query, have in common |
| `kinds` | the answers to a spec, and the certificates that are theirs |
"""
