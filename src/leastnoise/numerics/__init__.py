"""Float numerics: quadrature and root search. Nothing here proves anything."""
