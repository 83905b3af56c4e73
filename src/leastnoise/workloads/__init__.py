"""Linear workloads: tables of sums of the same cells, the noise in some, and the error of all.

| file | what |
|---|---|
| `marginal` | tables by any of several columns, from noise in some of them |
| `contrasts` | the part of a table that tables by fewer columns lack, in whole numbers |
| `marginal_bounds` | the least noise of any kind in such tables, proved |
| `nested` | tables by the levels of a tree and by other columns |
| `matrix`, `matrix_search` | questions with weights: least squares, and which sums get noise |
| `laplace_sums` | half-widths of sums of Laplace noise |
"""
