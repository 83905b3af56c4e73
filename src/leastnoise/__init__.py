"""leastnoise: the least noise that a differential-privacy guarantee allows, proved.

>>> import leastnoise as ln
>>> best = ln.least_noise(epsilon="1", delta="1e-5", sensitivity=ln.L2(1), dimension=7)
>>> best.noise.name, round(best.mse, 3)
('generalized-gamma', 48.492)

What `__init__.pyi` lists is all that is public: noise families are in `leastnoise.noise`, errors in
`leastnoise.errors`. Each is imported when it is first used, so that importing leastnoise costs
nothing.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = "0.1.0"
