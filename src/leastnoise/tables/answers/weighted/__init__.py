"""Named sums of cells, with weights: the noise is put into those sums of cells that suit them best.

| file | what |
|---|---|
| `questions` | the sums, as a CSV names them |
| `search` | finds and proves the noise |
| `errors` | the errors of the sums |
| `answer` | the plan, its certificate and the draw |
"""
