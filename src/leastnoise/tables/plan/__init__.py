"""Which noise the blocks of a release get, decided from public numbers alone.

In the order in which a plan is made, and best read:

| file | what |
|---|---|
| `least_epsilon` | begins it, and looks for ε where the spec asks for the least |
| `make_plan` | each draw of noise found and proved, then all of them together |
| `search_draws` | which blocks share a draw, and the least noise for it |
| `shared_draws`, `estimates` | groups of blocks that may share one, guessed in floats |
| `joint_budget` | all draws under the budget together, in place of a share of it each |
| `summed`, `unlisted`, `keys`, `quantiles` | blocks that share no draw |
| `count_trees` | trees of counts, for cumulative counts and for quantiles |
| `served` | which blocks a certificate is about, and whether it is |
| `plan` | what was found: the record that people, `verify` and `publish` read |
| `summary` | its words |
"""
