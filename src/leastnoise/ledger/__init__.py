"""The ledger: a file that records the use of each dataset's budget, before noise is drawn.

Notation: a charge costs (ε, δ) and, if it is seen as δ'-approximate ρ-zCDP, (ρ, δ').

| API | symbol | meaning |
|---|---|---|
| `Cost.epsilon`, `Cost.delta` | ε, δ | numbers that a charge adds to the sums of budgets |
| `Cost.rho`, `Cost.leak` | ρ, δ' | numbers that a charge adds to the sums of approximate zCDP |
| `Account.budget` | ε, δ | limit on all charges together |
| `Account.remaining` | | the rest of the budget by the account's filter |
| `Account.more_like` | | number of further charges of the same cost that fit |
| `Account.rule` | | the filter, fixed before any output was seen: `sums` or `zcdp` |
| `Ledger.charge` | | charge one release, or refuse it if it does not fit |
| `Ledger.register` | | charge releases that are fixed in advance, which compose tightly |
"""
