"""Noise for blocks whose sums are published, too: which tables get it, and what that leaves.

| file | what |
|---|---|
| `margins`, `cumulative`, `levels` | totals, running sums, sums by each level of the keys |
| `measured` | which tables of those with margins get noise, and what other ways would have |
| `chain` | noise in the cells alone, on a tree along one order of the columns |
| `whole_counts` | counts that add up, whole and none below 0: down which tree, with what bias |
"""
