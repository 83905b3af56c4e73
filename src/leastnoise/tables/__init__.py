"""Tables: from rows and a spec to published tables.

Each folder imports only folders above it in this list, or in the same row:

| folder | contents |
|---|---|
| `spec` | the sections and keys of a spec |
| `statistics`, `expressions` | statistics that can be published; expressions over rows |
| `layout`, `values` | integers that a query sums, and the effect of one unit; values in files |
| `noise`, `results` | queries that share a draw, and errors; tables and their files |
| `answers` | ways to answer a query (such as quantiles or sums), a folder for each |
| `parse` | from a TOML text to a checked spec |
| `rows` | from rows to exact integers |
| `plan`, `publish` | from a spec to a plan, and to published tables; both loop over answers |

`publish.release` runs a release: it parses the spec, makes the plan, charges the ledger, sums the
integers, adds noise, and writes and seals the tables.

| API | symbol | meaning |
|---|---|---|
| `Layout.dimension` | d | coordinates of a query: cells × components |
| `Layout.bits` | b | fixed-point bits: the integer I stands for I·2⁻ᵇ |
| `Layout.bounding` | – | the set to which the vector of one person is bounded |
"""
