"""The noise of a release, decided from public numbers alone.

The modules in the order in which a plan is made, and best read:

| file | what |
|---|---|
| `least_epsilon` | begins, and searches ε where the spec asks for the least |
| `make_plan` | has each answer find its noise, proves all together, reads the answers back |
| `shared_draws`, `estimates` | groups of queries that may share a draw, guessed in floats |
| `joint_budget` | all draws under the budget together, in place of a share for each |
| `plan` | the record that people, `verify` and `publish` read: a loop over answers |
| `summary` | its text |
"""
