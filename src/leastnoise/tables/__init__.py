"""From a table and a spec to published tables: plan, bound, sum, add noise, write, verify.

| API | symbol | meaning |
|---|---|---|
| `Layout.dimension` | d | coordinates of a block: cells × components |
| `Layout.clip_squared` | C² | squared l2 norm that one person's vector can't pass |
| `Layout.bits` | b | fixed-point bits: the integer I stands for I·2⁻ᵇ |
| `Layout.clip_integer` | N | largest squared norm of an integer vector, ⌊C²·4ᵇ⌋ |
"""
