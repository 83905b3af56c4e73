"""The cactus law for a budget (Alghamdi et al. 2022)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import takewhile
from typing import final

import numpy as np

from leastnoise.errors import InvalidArgument, NotApplicable
from leastnoise.noise.common import fit as common_fit
from leastnoise.noise.lattice import profile as lattice
from leastnoise.noise.lattice.fit.least_divergence import Floats, Program
from leastnoise.noise.lattice.law import MAX_POINTS, Cactus, Lattice
from leastnoise.noise.question import Loss, Question
from leastnoise.numerics.searches import IncreasingRoot

# Of the log of the price. Far from the root δ may jump, so that secant steps are kept short.
_ROUGH = IncreasingRoot(tolerance=1e-2, first_step=0.5, largest_step=1.5)
_ROOT = IncreasingRoot(tolerance=1e-6, first_step=0.05, largest_step=1.5)
_OUTSIDE = 1e-6  # of δ: what may lie where the tail falls by a constant ratio
_FEW, _MANY = 80, 320  # cells of the half line, while the range is searched and after
_SHORTEST, _LONGEST = 1.5, 20_000.0  # ranges, in sensitivities
_LARGEST_EPSILON = 10  # from there on nearly all of the law is in one of the cells


def search(question: Question) -> Cactus:
    """Return the cactus law that meets the budget just so, on a lattice of about 320 cells.

    What is searched is the price of loss in units of divergence, to 1e-6: a bound on the loss by
    another name. Raises NotApplicable if the range is too long for the lattice or ε too large,
    Refused if no law was found, InvalidArgument for fixed parameters.
    """
    if question.fixed:
        raise InvalidArgument(
            name="parameter",
            value=", ".join(question.fixed),
            expected="no fixed parameters: cactus finds its own",
        )
    if question.budget.epsilon > _LARGEST_EPSILON:
        raise _not_applicable(f"it is searched up to epsilon = {_LARGEST_EPSILON}")
    rough = _rough(question)
    found = _refined(question, rough)
    return Cactus(scale=1, cells=found.law.cells, masses=found.law.masses)


@final
@dataclass(frozen=True, kw_only=True)
class _Found:
    """A solved program at the price where δ is met."""

    program: Program
    log_price: float
    masses: Floats
    law: Lattice


def _rough(question: Question) -> _Found:
    """Solve few cells, over a range that is lengthened until hardly anything is beyond it."""
    power = 1 if question.loss is Loss.MAE else 2
    sigma = float(common_fit.gaussian(1, question.budget))
    delta, epsilon = float(question.budget.delta), float(question.budget.epsilon)
    # A Gaussian has the divergence 1/2σ² at the loss σ² (or σ√(2/π)); the slope is the price. It
    # is taken higher for large ε: there a low price makes a range too short, which leaks too.
    log_price = math.log({1: 1.2, 2: 0.5}[power]) - (2 + power) * math.log(sigma) + epsilon / 2
    reach = max(_SHORTEST, sigma * math.sqrt(-2 * math.log(_OUTSIDE * delta)))
    while reach <= _LONGEST:
        # no steeper than e^ε a sensitivity: then what is beyond is not exposed, only counted
        fall = min(reach / sigma**2, epsilon + 1 / reach)
        program = _program(reach, _FEW, fall=fall, power=power)
        slope = reach / (2 * sigma**2)  # to where a Gaussian would be, but from above
        start = np.exp(-min(slope, 7.0) * np.arange(program.reach + 1) / program.cells)
        found = _priced(question, program, start, log_price=log_price, root=_ROUGH)
        if (program.counts * found.masses)[-1] <= _OUTSIDE * delta:
            return found
        reach, log_price = 1.4 * reach, found.log_price
    raise _not_applicable(
        f"its range would be {reach:.3g} sensitivities; leastnoise takes at most {_LONGEST:,.0f}"
    )


def _refined(question: Question, rough: _Found) -> _Found:
    """Solve many cells over the range that `rough` shows to matter."""
    cells, shares = rough.program.cells, rough.program.counts * rough.masses
    beyond = np.cumsum(shares[::-1])[::-1]
    last = int(np.argmax(beyond <= _OUTSIDE * float(question.budget.delta)))
    last = max(last, math.ceil(_SHORTEST * cells))
    logs = np.log(rough.masses)
    fall = float(logs[last - cells] - logs[last])  # a sensitivity
    program = _program(last / cells, _MANY, fall=fall, power=rough.program.power)
    places = np.arange(program.reach + 1) / program.cells
    start = np.exp(np.interp(places, np.arange(len(logs)) / cells, logs))
    return _priced(question, program, start, log_price=rough.log_price, root=_ROOT)


def _program(length: float, count: int, *, fall: float, power: int) -> Program:
    """Return about `count` cells over `length` sensitivities, one a sensitivity at least."""
    cells = max(1, math.floor(count / length))
    return Program(cells=cells, reach=math.ceil(length * cells), fall=fall / cells, power=power)


def _priced(
    question: Question, program: Program, start: Floats, *, log_price: float, root: IncreasingRoot
) -> _Found:
    """Solve `program` at the price at which the law that it gives meets δ."""
    delta, epsilon = float(question.budget.delta), float(question.budget.epsilon)
    tried: dict[float, _Found] = {}

    def over(log_price: float) -> float:
        masses = program.solve(price=math.exp(log_price), start=start)
        law = _whole(program, masses, delta)
        tried[log_price] = _Found(program=program, log_price=log_price, masses=masses, law=law)
        shifts = [law.cells] if law.falls else range(1, law.cells + 1)
        leaked = lattice.delta(law, shifts=shifts, epsilon=epsilon)
        room = 1e-8  # for the proof: the float sum is accurate to 1e-13
        return math.log(leaked / delta * (1 + room)) if leaked > 0 else -math.inf

    return tried[root.find(over, guess=log_price)]


def _whole(program: Program, masses: Floats, delta: float) -> Lattice:
    """Return the law in whole numbers: p_0 … p_N and the tail, up to where it rounds to nothing."""
    bits = 40 + math.ceil(-math.log2(delta))  # masses below 2^-40 of δ are cut off
    tail = masses[-1] * np.exp(-program.fall * np.arange(1, MAX_POINTS - len(masses)))
    weights = (int(math.ldexp(mass, bits)) for mass in np.append(masses, tail).tolist())
    return Lattice(cells=program.cells, masses=takewhile(bool, weights))


def _not_applicable(why: str) -> NotApplicable:
    return NotApplicable(family=Cactus.name, why=why)
