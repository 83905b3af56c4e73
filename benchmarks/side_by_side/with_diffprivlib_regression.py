"""diffprivlib's LinearRegression: the functional mechanism of Zhang et al. (2012), δ = 0.

python with_diffprivlib_regression.py SPLIT.npz EPSILONS
"""

import json
import sys

import numpy as np
from diffprivlib.models import LinearRegression

with np.load(sys.argv[1]) as split:
    features, target = split["features"], split["target"]
    low, high = split["low"], split["high"]
found = []
for epsilon in json.loads(sys.argv[2]):
    model = LinearRegression(
        epsilon=epsilon, bounds_X=(low[:-1], high[:-1]), bounds_y=(low[-1], high[-1])
    )
    model.fit(features, target)
    found.append([*model.coef_, model.intercept_])
sys.stdout.write(json.dumps(found))
