"""From a table and a spec to published tables: plan, bound, sum, add noise, write, verify.

The way of the data is that of the folders: what a `spec` may say and what `values` mean; which
`statistics` there are; what each `query` asks for; a TOML text becomes a spec by `parse`; `plan`
finds its noise, `rows` its integers; `publish`.

| API | symbol | meaning |
|---|---|---|
| `Layout.dimension` | d | coordinates of a block: cells × components |
| `Layout.bits` | b | fixed-point bits: the integer I stands for I·2⁻ᵇ |
| `Layout.bounding` | – | the set that one person's vector is bounded to |
"""
