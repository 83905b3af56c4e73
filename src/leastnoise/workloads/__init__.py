"""Linear workloads: tables of sums of the same cells, noise in some of them, errors of all.

| file | content |
|---|---|
| `base` | tables as partitions of cells, and the protocol of strategies that draw noise for them |
| `lattice` | tables of which some are sums of others: the variances if some have noise |
| `marginal` | tables by any of several columns |
| `contrasts` | the part of a table that tables by fewer columns lack, in whole numbers |
| `marginal_bounds` | proved lower bounds on the noise of any kind in such tables |
| `tree` | whole-number noise on a tree of the cells: the laws of the numbers of tables |
| `tree_search` | the search for a tree and its shares, and the check of its certificate |
| `suppression` | secondary suppression: cells to hide so that no hidden cell follows from others |
| `ranks` | errors in ranks of quantiles that are read off the counts of a tree |
| `nested` | tables by the levels of a tree and by other columns |
| `matrix`, `matrix_search` | weighted questions: least squares, and the search for noisy sums |
| `laplace_sums` | half-widths of sums of Laplace noise |
"""
