"""Certificates: exact statements about noise, and how to prove them again.

No randomness or scipy is imported, and no proof relies on a float search. A proof depends on the
record alone. docs/guarantees.md counts the lines that a sceptic has to read.

| API | symbol | meaning |
|---|---|---|
| `Certificate.delta` | δ(ε) | smallest δ of all releases at the budget's ε, as an interval |
| `Certificate.prove`, `verify` | – | make the statement; prove it again from the record's fields |
| `ThresholdCertificate` | p₁ | unlisted groups, published if a noisy count reaches a threshold |
| `KeysCertificate` | π | unlisted keys, published without numbers |
| `QuantileCertificate` | λ, Δ | quantiles chosen among public candidates |
| `LimitCertificate` | λ, Δ | a limit chosen among public candidates, and the plans of all of them |
| `SelectionCertificate` | λ, Δ | the largest groups, selected round by round |
| `PlanCertificate` | – | several queries under one budget, and the rule by which they meet it |
"""
