"""Tables that add up: margins, cumulative counts, levels of keys, alone and beside other columns.

| file | what |
|---|---|
| `margin_queries`, `cumulative_queries`, `level_queries`, `nested_queries` | kinds, their tables |
| `answer` | the answers: one draw for all tables of a query |
| `margins`, `cumulative`, `levels` | the plan of totals, of running sums, of sums by each level |
| `nested` | the plan of levels beside other columns, with totals |
| `measured` | the tables with margins that get noise, and the error of other strategies |
| `chain` | noise in the cells alone, on a tree along one order of the columns |
| `whole_counts` | the tree down which counts are made whole and none below 0, and the bias |
| `publish_sums`, `publish_nested`, `publish_whole` | from exact integers to tables; checks |
"""
