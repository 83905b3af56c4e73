"""Certificates: what is claimed of which noise, exactly, and how to prove it again.

No float search, scipy or randomness is imported: what is proved rests on the record alone. What a
sceptic reads is counted in docs/guarantees.md.

| API | symbol | meaning |
|---|---|---|
| `Certificate.delta` | δ(ε) | smallest δ of all releases at the budget's ε, as an interval |
| `Certificate.prove`, `verify` | – | state it; prove it again from the record's fields |
| `ThresholdCertificate` | p₁ | groups that nobody listed, published from a noisy count on |
| `KeysCertificate` | π | keys that nobody listed, published alone |
| `QuantileCertificate` | λ, Δ | quantiles chosen among public candidates |
| `PlanCertificate` | – | several blocks under one budget, and the rule by which they meet it |
"""
