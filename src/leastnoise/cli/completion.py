"""`--install-completion` and `--show-completion`: what lets a shell complete a command line.

The script asks the program itself, through an environment variable that click reads.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, final

import click
from click.shell_completion import (
    CompletionItem,
    ShellComplete,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from leastnoise.cli.command import Declared, among, option, together
from leastnoise.cli.terminal import say

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


def options(command: Declared) -> Declared:
    """Declare the two options, which take the current shell if none is named."""
    more: dict[str, Any] = {
        "metavar": "[SHELL]",
        "is_flag": False,
        "flag_value": "",
        "is_eager": True,
    }
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
