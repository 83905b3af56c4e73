"""The entry point: the commands, what completes them, and which error ends with which exit code.

A shell's script for completion asks the program itself, through an environment variable that click
reads.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn, final

import click
from click.shell_completion import (
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from leastnoise import __version__
from leastnoise.cli import audit, calibrate, commands, compare, demo, ledger, release, spec
from leastnoise.cli.commands import Declared, among, option, together
from leastnoise.cli.terminal import place_of, say
from leastnoise.errors import InvalidInput, LeastnoiseError

_PROGRAM, _VARIABLE = "leastnoise", "_LEASTNOISE_COMPLETE"
_SHELL = among("bash", "zsh", "fish", "powershell")
_INSTALL = "Install completion for the current shell, or bash, zsh or fish."
_SHOWN = "Show completion for the current shell, bash, zsh, fish or powershell."
# Where the script of a shell goes below the user's folder; which line of which file reads it.
_PLACES = {
    "bash": (".bash_completions/leastnoise.sh", ".bashrc", "source '{script}'"),
    "zsh": (".zfunc/_leastnoise", ".zshrc", "fpath+=~/.zfunc; autoload -Uz compinit; compinit"),
    "fish": (".config/fish/completions/leastnoise.fish", "", ""),
}


@add_completion_class
@final
class _PowerShell(ShellComplete):
    """Names of files are PowerShell's own: it offers them where it is told nothing."""

    name = "powershell"
    source_template = """\
Register-ArgumentCompleter -Native -CommandName %(prog_name)s -ScriptBlock {
    param($word, $line, $cursor)
    $Env:%(complete_var)s = "powershell_complete"
    $Env:COMP_LINE = $line.ToString()
    $Env:COMP_WORD = $word
    %(prog_name)s | ForEach-Object {
        [System.Management.Automation.CompletionResult]::new($_, $_, "ParameterValue", $_)
    }
    Remove-Item Env:%(complete_var)s, Env:COMP_LINE, Env:COMP_WORD
}
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        words, incomplete = split_arg_string(os.environ["COMP_LINE"])[1:], os.environ["COMP_WORD"]
        return (words[:-1] if incomplete and words else words), incomplete

    def get_completions(self, args: list[str], incomplete: str) -> list[CompletionItem[str]]:
        found = super().get_completions(args, incomplete)
        return [one for one in found if one.type != "file"]

    def format_completion(self, item: CompletionItem[str]) -> str:
        return item.value


def completion_options(command: Declared) -> Declared:
    """Declare the two options, which take the current shell if none is named."""
    more = {"metavar": "[SHELL]", "is_flag": False, "flag_value": "", "is_eager": True}
    more |= {"callback": _answer, "expose_value": False}
    return together(
        option("", "--install-completion", _SHELL, _INSTALL, **more),
        option("", "--show-completion", _SHELL, _SHOWN, **more),
    )(command)


def _answer(ctx: click.Context, param: click.Parameter, shell: str | None) -> None:
    from leastnoise.errors import InvalidArgument

    if shell is None or ctx.resilient_parsing:
        return
    current = Path(os.environ.get("SHELL", "powershell" if os.name == "nt" else "")).stem
    made = get_completion_class(shell or current)
    if made is None:
        raise InvalidArgument(
            name=param.opts[0],
            value=shell or current or "nothing",
            expected="a shell that completes",
            hint=f"Name one: {_SHELL.name}.",
        )
    script = made(ctx.command, {}, _PROGRAM, _VARIABLE).source()
    if param.name == "show_completion":
        say(script, lines=True)
    else:
        _install(made.name, script)
    ctx.exit()


def _install(shell: str, script: str) -> None:
    from leastnoise.errors import InvalidInput

    if shell not in _PLACES:
        raise InvalidInput(
            "PowerShell's profile is yours to change: "
            "leastnoise --show-completion powershell | Out-String | Invoke-Expression"
        )
    place, settings, line = _PLACES[shell]
    path = Path.home() / place
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(script, encoding="utf-8")
    if settings:
        line = line.format(script=path)
        file = Path.home() / settings
        held = file.read_text(encoding="utf-8") if file.exists() else ""
        if line not in held.splitlines():
            file.write_text(f"{held}\n{line}\n", encoding="utf-8")
    say(f"Completion for {shell} is in {path}. It is there in the next terminal.")


REFUSED, MALFORMED, INTERNAL, INTERRUPTED = 1, 2, 70, 130


@click.group(
    "leastnoise",
    cls=commands.Group,
    commands=[
        calibrate.command,
        compare.command,
        calibrate.profile,
        calibrate.compose,
        spec.init,
        spec.schema,
        release.command,
        release.verify,
        release.report,
        release.difference,
        spec.limits,
        audit.command,
        demo.command,
        ledger.group,
    ],
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(
    __version__, message="%(prog)s %(version)s", prog_name="leastnoise", help="Print the version."
)
@completion_options
def app() -> None:
    """The least noise that a differential-privacy guarantee allows: found, proved, sampled."""


def main() -> NoReturn:
    """Run the command line: exit 0 done, 1 refused, 2 malformed input, 70 an internal error."""
    # A terminal that lacks a symbol gets a "?" for it, not an error after the work is done.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="replace")
    code: object = None
    try:
        code = app(standalone_mode=False)
    except click.Abort as error:
        interrupted = isinstance(error.__cause__, KeyboardInterrupt)
        code = INTERRUPTED if interrupted else REFUSED  # of a prompt
    except click.UsageError as error:
        _fail(commands.complaint(error), MALFORMED)
    except InvalidInput as error:
        _fail(f"leastnoise: {error}", MALFORMED)
    except LeastnoiseError as error:
        _fail(f"leastnoise: {error}", REFUSED)
    except OSError as error:  # of stdout, or a temporary folder; strerror holds no data
        _fail(f"leastnoise: Input or output failed: {error.strerror}.", MALFORMED)
    # Python's own report of an unforeseen error would print its message, which could quote data:
    # here alone everything is caught, and only its kind and place are shown.
    except Exception as error:  # noqa: BLE001 (so that no message is shown)
        _fail(f"leastnoise: Internal error ({place_of(error)}). Please report it.", INTERNAL)
    sys.exit(code if isinstance(code, int) else 0)


def _fail(message: str, code: int) -> NoReturn:
    with suppress(OSError):  # nobody reads: the exit code still says it
        say(message, err=True, lines=True)
    sys.exit(code)
