"""Learning: a private classifier for scikit-learn, and what private training needs elsewhere.

| API | symbol | meaning |
|---|---|---|
| `features` | d | columns, the intercept's column of ones among them |
| `rows` | n | persons' rows; public, as updates are divided by it |
| `rounds`, `updates` | T, P | rounds, and updates in each; releases are T·P |
| `squared_norm` | R² | the largest ‖x‖₂² of a row, the intercept's 1 included |
| `step` | γ | of every update |
| `noise_multiplier` | σ | noise's standard deviation over the norm that gradients are clipped to |
"""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
