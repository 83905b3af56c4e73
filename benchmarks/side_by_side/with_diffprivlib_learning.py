"""diffprivlib's LogisticRegression: objective perturbation of Chaudhuri et al. (2011), δ = 0.

python with_diffprivlib_learning.py SPLIT.npz NORM EPSILONS
"""

import json
import sys

import numpy as np
from diffprivlib.models import LogisticRegression

with np.load(sys.argv[1]) as split:
    features, labels = split["features"], split["labels"]
found = []
for epsilon in json.loads(sys.argv[3]):
    model = LogisticRegression(epsilon=epsilon, data_norm=float(sys.argv[2]), max_iter=1000)
    model.fit(features, labels)
    found.append([*model.coef_[0], *model.intercept_])
sys.stdout.write(json.dumps(found))
