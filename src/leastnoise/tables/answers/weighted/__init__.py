"""Named sums of cells, with weights.

Noise is added to cells, or to sums of cells, whichever gives the named sums the least error.

| file | contents |
|---|---|
| `named_sums` | the sums, as a CSV defines them |
| `questions` | the queries, and the layouts of their cells and sums |
| `search` | finds and proves the noise |
| `errors` | the errors of the sums |
| `answer` | the plan, its certificate and the draw |
"""
