"""The ways to answer a query, each in one folder; plan, release and `verify` loop over answers.

| file | contents |
|---|---|
| `base` | the protocols of a kind of query, of an answer, of an answer with proved noise |
| `over_time` | the protocol of an answer with running totals, over a series of releases |
| `plain` | queries of listed groups, with draws that they may share |
| `sums` | margins, cumulative counts, levels of keys: tables that add up |
| `weighted` | named sums of cells, with weights |
| `unlisted` | unlisted groups, published if a noisy count is high enough, or as keys alone |
| `quantiles` | quantiles, by chance or by a tree |
| `selection` | the largest groups, selected before their counts get noise |
| `noisy`, `single` | the base of answers with noise, and of answers to one query |
| `error_words` | errors as texts in the tables of a plan |
| `columns` | checks of the columns of a published table |
| `kinds` | lists all kinds of query, finds the kind of a query, and lays queries out |
| `match_certificates` | lists the answers to a spec, and matches certificates to them |
"""
