"""leastnoise: the least noise that a differential-privacy guarantee allows, proved.

>>> import leastnoise as ln
>>> best = ln.least_noise(epsilon="1", delta="1e-5", sensitivity=ln.L2(1), dimension=7)
>>> best.noise.name, round(best.mse, 3)
('generalized-gamma', 48.492)

`__init__.pyi` lists all public names. Noise families are in `leastnoise.noise`, and errors in
`leastnoise.errors`. Each name is imported on its first use, so that `import leastnoise` is fast.
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__version__ = "0.1.0"
