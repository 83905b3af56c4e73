"""Proofs in ball arithmetic, and the certificates that carry them.

Imports neither the float path (`numerics`, `analysis`) nor scipy nor randomness: what is proved
rests on the noise's parameters alone.

| API | symbol | meaning |
|---|---|---|
| `worst_shift` | Δ | longest shift, in the norm of the noise |
| `enclose_delta` | δ(ε) | smallest δ of the law at ε, as an interval |
| `Certificate.delta` | δ(ε) | the same, on the record |
"""
