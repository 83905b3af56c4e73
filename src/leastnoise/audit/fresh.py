"""A process of its own that draws: python -m leastnoise.audit.fresh, which `twice` starts.

It reads (sys.path, module, name, input, count), pickled, and writes the outputs, pickled.
"""

from __future__ import annotations

import importlib
import os
import pickle
import sys


def main() -> None:
    """Read, draw, write."""
    path, module, name, value, count = pickle.load(sys.stdin.buffer)  # of the parent
    out, sys.stdout = os.fdopen(os.dup(1), "wb"), sys.stderr  # what the mechanism prints is lost
    sys.path[:] = path
    found = importlib.import_module(module)
    for part in name.split("."):
        found = getattr(found, part)
    from leastnoise.audit.subject import drawn  # noqa: PLC0415 (after the path is set)

    with out:
        pickle.dump(drawn(found, value, count), out)  # pyright: ignore[reportArgumentType]


if __name__ == "__main__":
    main()
