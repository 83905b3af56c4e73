"""Each library of the extra is needed by its functions alone."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys
sys.modules[{missing!r}] = None
import leastnoise as ln
from leastnoise import interop

mechanism = ln.calibrate("gaussian", epsilon=1, delta="1e-5", sensitivity=ln.L2(1))
calls = {{
    "to_opendp": lambda: interop.to_opendp(mechanism),
    "to_dp_event": lambda: interop.to_dp_event(mechanism),
    "to_pld": lambda: interop.to_pld(mechanism, interval=0.1),
    "from_pld": lambda: interop.from_pld(None),
    "from_plds": lambda: interop.from_plds([]),
}}
if {missing!r} != "opendp":
    from opendp.prelude import enable_features
    enable_features("contrib", "honest-but-curious")
for name, call in calls.items():
    try:
        call()
    except interop.MissingExtra as error:
        print(name, error.package)
    except ln.errors.InvalidArgument:  # arguments are read after the library
        pass
"""


@pytest.mark.dense
@pytest.mark.parametrize(
    ("missing", "package", "refused"),
    [
        ("dp_accounting", "dp-accounting", ["to_dp_event", "to_pld", "from_pld", "from_plds"]),
        ("opendp", "opendp", ["to_opendp"]),
    ],
)
def test_only_functions_of_a_missing_library_are_refused(
    missing: str, package: str, refused: list[str]
) -> None:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM.format(missing=missing)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert not done.returncode, done.stderr
    assert done.stdout.splitlines() == [f"{name} {package}" for name in refused]
