"""The noise of a release, chosen from public numbers alone.

The modules in the order in which a plan is made, which is the best order to read them:

| file | content |
|---|---|
| `least_epsilon` | the entry; the search for ε if the spec asks for the least |
| `make_plan` | each answer finds its noise; all noise is proved together, and read back |
| `plan` | the record that people, `verify` and `publish` read |
| `summary` | the text of a plan |
"""
