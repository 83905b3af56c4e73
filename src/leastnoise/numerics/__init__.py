"""Float numerics: quadrature and root search. Nothing here proves anything; `certify` does."""
