"""The noise of queries: which queries share a draw, and the errors of published numbers.

| file | contents |
|---|---|
| `budget_shares` | the queries that need noise, and their shares of the budget |
| `shared_draws`, `estimates` | groups of queries that may share a draw, estimated in floats |
| `draw_search` | the draws of a release, and the least noise for each |
| `joint_scaling` | all draws under the budget together, instead of a share for each |
| `errors`, `baselines` | the errors of published numbers, and the errors of plain noise |
| `trees` | certificates of noise on trees of counts, and the errors of their tables |
"""
