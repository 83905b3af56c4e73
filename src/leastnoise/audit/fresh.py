"""A process of its own that draws: python -m leastnoise.audit.fresh, which `twice` starts.

It reads (sys.path, module, name, input, count), pickled, and writes the outputs as a .npy file.
"""

from __future__ import annotations

import os
import pickle
import sys


def main() -> None:
    """Read, draw, write."""
    path, module, name, value, count = pickle.load(sys.stdin.buffer)  # noqa: S301 (of the parent)
    out, sys.stdout = os.fdopen(os.dup(1), "wb"), sys.stderr  # what the mechanism prints is lost
    sys.path[:] = path
    # after the path is set, as the parent has it
    from leastnoise.audit.subject import drawn  # noqa: PLC0415
    from leastnoise.audit.twice import function_at, packed  # noqa: PLC0415

    with out:
        out.write(packed(drawn(function_at(module, name), value, count)))


if __name__ == "__main__":
    main()
