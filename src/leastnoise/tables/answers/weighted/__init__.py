"""Named sums of cells, with weights: noise is in the sums of cells that are best for them.

| file | what |
|---|---|
| `questions` | the sums, as a CSV names them |
| `search` | finds and proves the noise |
| `errors` | the errors of the sums |
| `answer` | the plan, its certificate and the draw |
"""
