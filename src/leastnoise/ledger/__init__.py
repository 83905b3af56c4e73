"""The budget file: what was spent of each dataset's budget, written down before any noise is drawn.

notation: a charge costs (ε, δ); and, as δ'-approximate ρ-zCDP, (ρ, δ').

| API | symbol | meaning |
|---|---|---|
| `Cost.epsilon`, `Cost.delta` | ε, δ | what a charge adds to the sums |
| `Cost.rho`, `Cost.leak` | ρ, δ' | what it adds to the filter of approximate zCDP |
| `Account.budget` | ε, δ | what all charges together may cost |
| `Account.remaining` | | what is left of it by the account's filter |
| `Account.more_like` | | how many more such charges fit |
| `Account.rule` | | the filter, fixed before anything was seen: `sums` or `zcdp` |
| `Ledger.charge` | | one release, refused if it does not fit |
| `Ledger.register` | | releases that are fixed in advance, which compose tightly |
"""
