"""`leastnoise design`: write a spec on a local page that shows its errors."""

from __future__ import annotations

from pathlib import Path

import click

from leastnoise.cli import terminal
from leastnoise.cli.command import Command, OptionType, argument, option
from leastnoise.cli.options import INTEGER


@click.command("design", cls=Command)
@argument(
    "spec",
    OptionType("[SPEC]", Path, files=True),
    "The spec to open, or to begin if the file is missing; spec.toml if left out.",
    Path("spec.toml"),
)
@option(
    "Page", "--port", INTEGER, "The port of the page on this machine; if left out, a free port."
)
def command(*, spec: Path, port: int | None) -> None:
    """Write a spec on a page in a browser, which shows the error of each number.

    Only a browser on this machine can open the page, at the address that is printed. A plan reads
    the header of the source and no row.
    """
    from leastnoise.cli.design_page.server import Designer
    from leastnoise.cli.spec import locate_problems
    from leastnoise.errors import InvalidArgument

    if port is not None and not 0 < port < 1 << 16:
        raise InvalidArgument(name="--port", value=port, expected="0 < port < 65536")
    with locate_problems(spec):
        server = Designer(spec, port=port or 0)
    try:
        with server:
            terminal.say(f"Open {server.address}")
            terminal.say("Its token is the key to the page: don't share it. Ctrl+C ends the page.")
            server.serve_forever()
    except KeyboardInterrupt:
        terminal.say()
