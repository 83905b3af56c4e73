"""The table: 200,000 adults, one row each, drawn from a fixed seed."""

from __future__ import annotations

import csv
import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np

PERSONS = 200_000
REGIONS = 20
SEED = 20260101
TOP_INCOME = 150_000  # the public bound on incomes: two in a thousand are above it
CENTRE = TOP_INCOME / 2


@dataclass(frozen=True, kw_only=True)
class Region:
    """The true size of a region and its true mean of incomes within the bounds."""

    size: int
    mean: float


def write(path: Path) -> list[Region]:
    """Write the table as CSV, and return the true sizes and means of its regions."""
    generator = np.random.default_rng(SEED)
    weights = 1 / np.arange(4, 4 + REGIONS)
    region = generator.choice(REGIONS, PERSONS, p=weights / weights.sum()) + 1
    sex = generator.choice(["f", "m"], PERSONS)
    age = generator.integers(18, 100, PERSONS)
    income = np.exp(generator.normal(10.4, 0.7, PERSONS)).astype(int)
    tenure = generator.choice(["own", "rent"], PERSONS, p=[0.6, 0.4])
    with path.open("w", newline="", encoding="utf-8") as file:
        table = csv.writer(file)
        table.writerow(["person", "region", "sex", "age", "income", "tenure"])
        columns = [part.tolist() for part in (region, sex, age, income, tenure)]
        table.writerows(zip(range(PERSONS), *columns, strict=True))
    bounded = np.minimum(income, TOP_INCOME)
    return [
        Region(size=int(np.sum(region == r)), mean=float(np.mean(bounded[region == r])))
        for r in range(1, REGIONS + 1)
    ]


def mean_std(regions: list[Region], *, total: float, size: float) -> float:
    """The root mean square, over the regions, of the std of a region's mean income.

    All libraries divide a noisy sum of (income − CENTRE) by a noisy count and add CENTRE. By the
    delta method at the true size n and mean m of a region, with uncorrelated noise of standard
    deviations `total` and `size`, the variance is (total² + (m − CENTRE)²·size²)/n².
    """
    variances = [
        (total**2 + (region.mean - CENTRE) ** 2 * size**2) / region.size**2 for region in regions
    ]
    return math.sqrt(sum(variances) / len(variances))
