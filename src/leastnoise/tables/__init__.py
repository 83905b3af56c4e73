"""From a table and a spec to published tables: plan, bound, sum, add noise, write, verify.

| API | symbol | meaning |
|---|---|---|
| `Layout.dimension` | d | coordinates of a block: cells × components |
| `Layout.bits` | b | fixed-point bits: the integer I stands for I·2⁻ᵇ |
| `Layout.bounding` | – | the set that one person's vector is bounded to |
"""
