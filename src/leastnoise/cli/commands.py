"""Commands and groups of commands: their help, their errors, and how they read their options.

Help is in groups (`rich_help_panel` names an option's), in plain text: typer draws groups with
rich, which takes longer to import than all else that --help needs.
"""

from __future__ import annotations

import re
from collections import Counter
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from leastnoise import _validate, _words

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

# The base of typer's errors about a command line, which typer itself doesn't export.
UsageError = cast("type[Exception]", typer.BadParameter.__base__)

_MOST_DIGITS = 20
_WHOLE = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_ALIKE = 0.6  # of two names, from 0 to 1
_ALL_OF_IT = 10**6  # characters of a summary that are never reached
_MOST_NAME = 22  # columns for the names of options; a longer one has a line of its own
_HYPHEN, _BLANK = "\u2011", "\u00a0"


class Command(TyperCommand):
    """A command whose options are given once, but for those that collect a list."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, which read texts and numbers as they are."""
        return _quickly_read(super().get_params(ctx))

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Return what the usage line shows: arguments that may be left out are in brackets."""
        return ["[OPTIONS]", *_arguments(self, ctx)]

    def get_help(self, ctx: Any) -> str:
        """Return the help, in which no name is broken at a hyphen."""
        return _plain(super().get_help(ctx))

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write what the command does."""
        _keep_names_whole(formatter)
        super().format_help_text(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the options, group by group."""
        _write_options(self, ctx, formatter)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Raise InvalidArgument where the parser would take the last of several values."""
        if not ctx.resilient_parsing:  # a shell asks how a line may go on
            self._refuse_repetition(args)
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            _suggest(error, self.get_params(ctx))
            raise

    def invoke(self, ctx: Any) -> Any:
        """Run the command; an error about one of its options calls it as it is written."""
        from leastnoise.errors import InvalidArgument

        try:
            return super().invoke(ctx)
        except InvalidArgument as error:
            written = {one.name.replace("_", "-"): one.opts[0] for one in self.params}
            name = written.get(error.name.replace("_", "-"), "")
            if not name.startswith("--"):
                raise
            raise InvalidArgument(
                name=name, value=error.value, expected=error.expected, hint=error.hint
            ) from None

    def _refuse_repetition(self, args: Sequence[str]) -> None:
        from leastnoise.errors import InvalidArgument

        own = args[: args.index("--")] if "--" in args else args
        given = Counter(text.partition("=")[0] for text in own)
        for one in self.params:
            single = one.nargs == 1 and not getattr(one, "multiple", False)
            if one.param_type_name == "option" and single and not getattr(one, "is_flag", False):
                for name in one.opts:
                    if given[name] > 1:
                        raise InvalidArgument(
                            name=name,
                            value=f"{given[name]} times",
                            expected=f"{name} to be given once",
                        )


class Group(TyperGroup):
    """A group of commands, the options of which are read as those of a `Command`."""

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the options, which read texts and numbers as they are."""
        return _quickly_read(super().get_params(ctx))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the options before the command's name; an unknown one is named with the nearest."""
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            _suggest(error, self.get_params(ctx))
            raise

    def get_help(self, ctx: Any) -> str:
        """Return the help, in which no name is broken at a hyphen."""
        return _plain(super().get_help(ctx))

    def format_help_text(self, ctx: Any, formatter: Any) -> None:
        """Write what the command does."""
        _keep_names_whole(formatter)
        super().format_help_text(ctx, formatter)

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Write the commands, each with its whole summary, then the options."""
        rows = [
            (name, command.get_short_help_str(_ALL_OF_IT))
            for name, command in self.commands.items()
            if not command.hidden
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
        _write_options(self, ctx, formatter)


def complaint(error: Any) -> str:
    """Return what a usage error says, and where help is; help alone where nothing was asked."""
    said = error.format_message()
    if error.ctx is not None and said == error.ctx.get_help():
        return said
    said = _words.plain(said)
    if error.ctx is None:
        return f"leastnoise: {said}"
    return f"leastnoise: {said}\nHelp: {error.ctx.command_path} --help"


def _suggest(error: Any, params: Sequence[Any]) -> None:
    """Let the error about an unknown option name the one that was meant, if one is near."""
    written = getattr(error, "option_name", None)
    if not hasattr(error, "possibilities"):
        return
    known = {
        name.lstrip("-"): name
        for one in params
        if one.param_type_name == "option"
        for name in one.opts
    }
    shown = _words.plain(str(written))
    error.possibilities = None
    error.message = f"No such option: {shown}."
    # without the dashes, which make all names alike
    if close := get_close_matches(shown.lstrip("-"), known, n=1, cutoff=_ALIKE):
        error.message += f" Did you mean {known[close[0]]}?"


def _arguments(command: Any, ctx: Any) -> Iterator[str]:
    for one in command.get_params(ctx):
        if one.param_type_name == "argument":
            name = one.metavar or one.name.upper()
            yield name if one.required else f"[{name}]"


def _write_options(command: Any, ctx: Any, formatter: Any) -> None:
    groups: dict[str, list[tuple[str, str]]] = {}
    rest: list[tuple[str, str]] = []
    for one in command.get_params(ctx):
        record = one.get_help_record(ctx)
        if record is None:
            continue
        name, said = record[0], _unbroken(record[1])
        if one.param_type_name == "argument":
            groups.setdefault("Arguments", []).append((one.metavar or one.name.upper(), said))
        elif one.rich_help_panel is None:
            rest.append((name, said))
        else:
            groups.setdefault(one.rich_help_panel, []).append((name, said))
    groups["Other" if groups else "Options"] = rest
    widest = max(len(name) for rows in groups.values() for name, _ in rows)
    for title, rows in groups.items():
        # write_dl aligns each group by itself; all alike is easier to read
        rows[0] = (rows[0][0].ljust(min(widest, _MOST_NAME)), rows[0][1])
        with formatter.section(title):
            formatter.write_dl(rows, col_max=_MOST_NAME)


def _unbroken(said: str) -> str:
    """Return `said` with marks at which no line is broken: in names with hyphens, and defaults."""
    said = said.replace("-", _HYPHEN)
    text, default, value = said.partition("[default: ")
    return text + default[:-1] + _BLANK + value if default else text


def _keep_names_whole(formatter: Any) -> None:
    """Let the texts that `formatter`, made for one help, writes be broken at blanks alone."""
    usual = formatter.write_text
    formatter.write_text = lambda text: usual(text.replace("-", _HYPHEN))


def _plain(text: str) -> str:
    return text.replace(_HYPHEN, "-").replace(_BLANK, " ")


def _quickly_read(params: list[Any]) -> list[Any]:
    for one in params:
        if not isinstance(one.process_value, partial):
            one.process_value = partial(_read, one, one.process_value)
    return params


def _read(param: Any, usual: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    """Return the value of an option that is left out, a plain text, path or number; else `usual`.

    typer makes a validator of pydantic's for each option, which takes a third of a second.
    """
    kind = _kind(param)
    if value is None and _kind(param) is not None and not param.required:
        found: Any = () if param.multiple or param.nargs == -1 else None
    elif kind in {str, Path} and isinstance(value, str) and value.isascii():
        found = kind(value)
    elif kind in {int, float} and isinstance(value, str):
        found = _number(kind, value, name=param.opts[0])
    elif kind is int and type(value) is int:
        found = value
    else:
        return usual(context, value)
    return param.callback(context, param, found) if param.callback else found


def _kind(param: Any) -> Any:
    """Return the type of an option's value, None where typer doesn't say it."""
    return getattr(getattr(param, "type_descriptor", None), "annotation", None)


def _number(kind: type[int] | type[float], text: str, *, name: str) -> int | float:
    """Return the number that `text` is; raises InvalidArgument with the option's name."""
    pattern, like = (_WHOLE, "a whole number") if kind is int else (_REAL, "a number")
    if pattern.fullmatch(text) and (kind is float or len(text) <= _MOST_DIGITS):
        return kind(text)
    from leastnoise.errors import InvalidArgument

    hint = f"Write it like {name} {'3' if kind is int else '0.5'}."
    if kind is float:
        hint = _validate.number_like(text) or hint
    raise InvalidArgument(name=name, value=_validate.shown(text), expected=like, hint=hint)
