"""Tables that add up: margins, cumulative counts, levels of keys, alone and beside other columns.

| file | what |
|---|---|
| `margin_queries`, `cumulative_queries`, `level_queries`, `nested_queries` | kinds, their tables |
| `problems` | problems of a spec that all these kinds share |
| `answer` | the base of all answers: one draw for all tables of a query |
| `trees`: `cumulative`, `levels` | running sums, and sums by each level, from one tree of noise |
| `measured_sums`: `margins`, `nested` | totals, alone or beside levels, from noise in tables |
| `measured` | the search for tables with noise, and a comparison with other noise |
| `chain` | noise in the cells alone, on a tree along one order of the columns |
| `whole_counts` | the tree along which counts are made whole and ≥ 0, and their bias |
| `publish_sums`, `publish_nested`, `publish_whole` | from exact integers to tables; checks |
"""
