"""From a table and a spec to published tables: plan, bound, sum, add noise, write, verify.

Whoever stands later in this list imports whoever stands before, never the other way: what a `spec`
may say, and what `values` mean; which row `expressions` and `statistics` there are; what each
`query` asks for; how a TOML text becomes a spec (`parse`); the integers of a spec (`rows`) and its
noise (`plan`), which rests on the ways to answer a query (`answers`); what is made of all these
(`publish`).

A release runs from `publish.release` on: the spec is parsed, planned and charged, then the integers
are summed, noise is added, and tables are written and sealed.

| API | symbol | meaning |
|---|---|---|
| `Layout.dimension` | d | coordinates of a block: cells × components |
| `Layout.bits` | b | fixed-point bits: the integer I stands for I·2⁻ᵇ |
| `Layout.bounding` | – | the set that one person's vector is bounded to |
"""
