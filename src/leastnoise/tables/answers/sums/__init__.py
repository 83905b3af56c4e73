"""Tables that add up: margins, cumulative counts, levels of keys, alone and beside other columns.

| file | contents |
|---|---|
| `margin_queries` and other `…_queries` | the kinds of query, and the layouts of their tables |
| `problems`, `whole_rows` | problems of a spec, and effects of a unit, that these kinds share |
| `answer` | the base of all answers: one draw for all tables of a query |
| `trees`: `cumulative`, `levels`, `series` | running sums, and sums by level, from trees of noise |
| `measured_sums`: `margins`, `nested` | totals, alone or beside levels, from noise in tables |
| `measured` | the search for tables with noise |
| `compared` | the deviations of a plan, beside other strategies and a lower bound |
| `margin_errors`, `nested_strategy` | the errors of tables that are computed from noisy tables |
| `chain` | noise in the cells alone, on a tree along one order of the columns |
| `whole_counts` | the tree along which counts are made whole and ≥ 0, and their bias |
| `publish_sums`, `publish_nested`, `publish_whole` | from exact integers to tables; checks |
| `publish_suppressed` | the suppression of small cells, and its checks |
"""
