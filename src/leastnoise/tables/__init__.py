"""From a table and a spec to published tables: plan, bound, sum, add noise, write, verify.

Each folder imports folders that stand before it in this list:

| folder | what |
|---|---|
| `spec` | the keys that a spec may have |
| `statistics`, `expressions` | what can be asked of rows |
| `layout`, `values` | the integers of a query, and the moves of one unit; how files hold values |
| `noise`, `results` | queries that share a draw, and errors; tables and their files |
| `answers` | the ways to answer a query, a folder for each |
| `parse` | from a TOML text to a checked spec |
| `rows` | from rows to exact integers |
| `plan`, `publish` | loops over answers: from a spec to a plan, and to published tables |

A release runs from `publish.release` on: the spec is parsed, planned and charged, then the integers
are summed, noise is added, and tables are written and sealed.

| API | symbol | meaning |
|---|---|---|
| `Layout.dimension` | d | coordinates of a block: cells × components |
| `Layout.bits` | b | fixed-point bits: the integer I stands for I·2⁻ᵇ |
| `Layout.bounding` | – | the set that one person's vector is bounded to |
"""
