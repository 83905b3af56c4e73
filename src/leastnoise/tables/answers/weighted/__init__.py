"""Named sums of cells, with weights: noise is added to the sums of cells that give the least error.

| file | what |
|---|---|
| `questions` | the sums, as a CSV defines them |
| `search` | finds and proves the noise |
| `errors` | the errors of the sums |
| `answer` | the plan, its certificate and the draw |
"""
