"""The ways to answer a query, each in one file; all else is a loop over answers.

| file | what |
|---|---|
| `base` | the protocols of an answer, of an answer with proved noise, and of its parts of tables |
| `plain` | queries of listed groups, with draws that they may share |
| `sums` | margins, cumulative counts, levels of keys: tables that add up |
| `unlisted` | groups that nobody listed, published from a noisy count on |
| `keys` | the keys that exist, without a number |
| `quantiles` | quantiles, by chance or by a tree |
| `quantile_plan` | the plan of quantiles, however they are found |
| `noisy`, `single` | the base of answers with noise, and of answers to one query |
| `columns` | checks of the columns of a published table |
| `kinds` | lists the answers to a spec, and matches certificates to them |
"""
