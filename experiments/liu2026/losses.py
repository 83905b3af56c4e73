"""The least losses of every family, and the least that any noise can have, over the paper's grid.

They are kept in losses.csv, a line a setting and loss, with 9 digits; lines that are there already
are not computed again. "mixture" is the best of all K = 0 … MOST_MODES, with its K and σ;
"certified" says whether that law is proved to be private. The other families are; "theorem", the
loss of the quasi-Gaussian law at the scale of Theorem 4.2, is not proved here. The lower bound is
proved; it is within GAP of the loss of "optimal", or as near as EFFORT allows.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from pathlib import Path

from theorem import published_scale

from leastnoise.design.programs.effort import WORK, Effort
from leastnoise.design.programs.find import find_design
from leastnoise.design.programs.refine import Task
from leastnoise.errors import Refused
from leastnoise.guarantees.budget import Budget
from leastnoise.guarantees.sensitivity import L2
from leastnoise.noise.base import Noise
from leastnoise.noise.kernels.fit import MOST_MODES
from leastnoise.noise.kernels.law import GaussianMixture, QuasiGaussian
from leastnoise.noise.question import Loss, Question
from leastnoise.noise.registry import part_of
from leastnoise.selection.public import calibrate

PATH = Path(__file__).parent / "losses.csv"
GAP = 0.005
EFFORT = Effort(gap=GAP, work=WORK // 3)  # about 20 s
BENCHMARKS = ("truncated-laplace", "tulap", "staircase", "flipped-huber", "cactus")
CALIBRATED = ("quasi-gaussian", "gaussian", *BENCHMARKS, "truncated-staircase")
FIELDS = (
    *("delta", "epsilon", "loss", "mixture", "modes", "sigma", "certified", "theorem"),
    *CALIBRATED,
    *("optimal", "bound"),
)

Cell = dict[str, str]
Cells = dict[tuple[str, str, str], Cell]
"""By δ and ε, as they are written, and the loss."""


def cells_of(delta: str, epsilon: str) -> Iterator[Cell]:
    """Compute the lines of one setting.

    "inf" stands for a family that can't serve, and for "optimal" if no law was found with EFFORT.
    """
    budget = Budget(epsilon=epsilon, delta=delta)
    mixtures = [mixture_of(budget, modes) for modes in range(MOST_MODES + 1)]
    as_published = QuasiGaussian(scale=published_scale(budget), spacing=1, decay=budget.epsilon)
    for loss in Loss:
        best, certified = certified_mixture(min(mixtures, key=loss.of), budget)
        design = find_design(Task(budget=budget, loss=loss), EFFORT)
        yield {
            "delta": delta,
            "epsilon": epsilon,
            "loss": loss.value,
            "mixture": f"{loss.of(best):.9g}",
            "modes": str(best.parameters["modes"]),
            "sigma": f"{float(best.scale):.9g}",
            "certified": "yes" if certified else "no",
            "theorem": f"{loss.of(as_published):.9g}",
            **{name: calibrated(name, delta, epsilon, loss) for name in CALIBRATED},
            "optimal": f"{loss.of(design.law):.9g}" if design.law else "inf",
            "bound": f"{design.bound.value:.9g}" if design.bound else "0",
        }


def mixture_of(budget: Budget, modes: int) -> GaussianMixture:
    """Return the mixture with K = `modes` at its least σ."""
    law = part_of(GaussianMixture, "fit")(Question(budget=budget, fixed={"modes": modes}))
    assert isinstance(law, GaussianMixture)
    return law


def certified_mixture(law: GaussianMixture, budget: Budget) -> tuple[Noise, bool]:
    """Return the law with as many modes that is certified, or `law` if none is."""
    try:
        mechanism = calibrate(
            law.name,
            epsilon=budget.epsilon,
            delta=budget.delta,
            sensitivity=L2(1),
            parameters={"modes": law.modes},
        )
    except Refused as error:
        print(f"{law} at {budget}: {error}", flush=True)
        return law, False
    return mechanism.noise, True


def calibrated(name: str, delta: str, epsilon: str, loss: Loss) -> str:
    try:
        mechanism = calibrate(
            name, epsilon=epsilon, delta=delta, sensitivity=L2(1), loss=loss.value
        )
    except Refused as error:
        print(f"{name} at ({epsilon}, {delta}): {error}", flush=True)
        return "inf"
    return f"{loss.of(mechanism):.9g}"


def read_losses(path: Path = PATH) -> Cells:
    """The losses in losses.csv, by (delta, epsilon, loss)."""
    if not path.exists():
        return {}
    with path.open(encoding="utf-8") as file:
        return {(c["delta"], c["epsilon"], c["loss"]): c for c in csv.DictReader(file)}


def complete(settings: list[tuple[str, str]]) -> Cells:
    """Return the lines of all settings, (δ, ε), from losses.csv or computed and added to it."""
    known = read_losses()
    missing = [pair for pair in settings if any((*pair, loss.value) not in known for loss in Loss)]
    with PATH.open("a", newline="", encoding="utf-8") as file:
        out = csv.DictWriter(file, FIELDS, lineterminator="\n")
        if not known:
            out.writeheader()
        for count, pair in enumerate(missing, 1):
            lines = list(cells_of(*pair))
            out.writerows(lines)
            file.flush()
            known |= {(*pair, line["loss"]): line for line in lines}
            print(f"{count} of {len(missing)}: delta = {pair[0]}, epsilon = {pair[1]}", flush=True)
    return known
