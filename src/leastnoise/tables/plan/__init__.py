"""The noise of a release, decided from public numbers alone.

The modules in the order in which a plan is made, and best read:

| file | what |
|---|---|
| `least_epsilon` | begins, and searches ε where the spec asks for the least |
| `make_plan` | has each answer find its noise, proves all together, reads the answers back |
| `plan` | the record that people, `verify` and `publish` read: a loop over answers |
| `summary` | its text |
"""
