"""Base classes for commands and groups of commands: their options, help and errors.

Help lists options in groups (an option's `panel`), as plain text, and breaks no line at a hyphen.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, final

import click
from click.shell_completion import CompletionItem

from leastnoise import _validate, _words

Declared = TypeVar("Declared", bound=Callable[..., Any])

MOST_DIGITS = 20  # digits of a whole number
_WHOLE = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MOST_NAME = 22  # columns for the names of options; a longer name gets a separate line
_HYPHEN, _BLANK = "\u2011", "\u00a0"

REQUIRED, MANY = object(), object()
"""Markers in place of a default value: the option is required, or may be repeated."""


@final
class OptionType(click.ParamType):
    """The type of an option's value: its name in help, its conversion, and shell completion.

    Exact decimals, such as ε, stay texts until the code that uses them reads them. Values of type
    int and float are converted here. With `files` the shell completes file names.
    """

    def __init__(
        self,
        name: str,
        read: Callable[[str], object] = str,
        *,
        complete: Callable[[], Sequence[str]] = tuple,
        files: bool = False,
    ) -> None:
        self.name = name
        self.read = read
        self.complete = complete
        self.files = files

    def get_metavar(self, param: click.Parameter, ctx: click.Context) -> str:
        return self.name

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):  # a default
            return value
        if self.read in {int, float}:
            return _number(value, whole=self.read is int, name=param.opts[0] if param else "")
        return self.read(value)

    def shell_complete(
        self, ctx: click.Context, param: click.Parameter, incomplete: str
    ) -> list[CompletionItem[str]]:
        if self.files:
            return [CompletionItem(incomplete, type="file")]
        return [CompletionItem(name) for name in self.complete() if name.startswith(incomplete)]


def among(*names: str) -> OptionType:
    """The type of an option with a choice of `names`. The code that uses the value checks it."""
    return OptionType("|".join(names), complete=lambda: names)


def _number(text: str, *, whole: bool, name: str) -> int | float:
    """Read a number. Raises InvalidArgument with the option's name."""
    pattern = _WHOLE if whole else _REAL
    if pattern.fullmatch(text) and not (whole and len(text) > MOST_DIGITS):
        return int(text) if whole else float(text)
    from leastnoise.errors import InvalidArgument, show_value

    example = "3" if whole else "0.5"
    hint = f"Write it like {f'{name} {example}' if name.startswith('-') else example}."
    if not whole:
        hint = _validate.number_like(text) or hint
    expected = "a whole number" if whole else "a number"
    raise InvalidArgument(name=name, value=show_value(text), expected=expected, hint=hint)


class _Option(click.Option):
    """An option and its `panel`, the heading under which help lists it."""

    def __init__(self, *declared: Any, panel: str = "", **more: Any) -> None:
        super().__init__(*declared, **more)
        self.panel = panel


def option(  # noqa: PLR0917 (a table of options has such rows)
    panel: str,
    name: str,
    kind: OptionType | None,
    text: str,
    default: object = None,
    /,
    **more: Any,
) -> Callable[[Declared], Declared]:
    """Declare an option; without a `kind` it is a flag. `default` may be REQUIRED or MANY.

    In `name`, the parameter of the command's function may follow the option: "--try tried".
    """
    more |= {"is_flag": True} if kind is None else {"type": kind, "show_default": True}
    if default is REQUIRED or default is MANY:
        more["required" if default is REQUIRED else "multiple"] = True
    elif default is not None:
        more["default"] = default
    return click.option(*name.split(), cls=_Option, panel=panel, help=text, **more)


def options_of(panel: str, *rows: tuple[Any, ...]) -> Callable[[Declared], Declared]:
    """Declare options under one heading of the help.

    A row is (name, kind, help) or (name, kind, help, default), as in `option`.
    """
    return declare_all(*(option(panel, *row) for row in rows))


def declare_all(*declared: Callable[[Any], Any]) -> Callable[[Declared], Declared]:
    """Combine decorators that declare options into one; help lists the options in this order."""
    return lambda command: functools.reduce(
        lambda function, declare: declare(function), declared[::-1], command
    )


def argument(
    name: str, kind: OptionType, text: str, default: object = REQUIRED
) -> Callable[[Declared], Declared]:
    """Declare a positional argument of a command; with the default MANY it takes one or more."""
    more: dict[str, Any] = {"required": default is REQUIRED or default is MANY}
    more |= {"nargs": -1} if default is MANY else {}
    more |= {} if more["required"] else {"default": default}
    return click.argument(name, type=kind, metavar=kind.name, help=text, **more)


class Command(click.Command):
    """A command that refuses a repeated option, unless it is a flag or collects a list."""

    def get_help(self, ctx: click.Context) -> str:
        return super().get_help(ctx).replace(_HYPHEN, "-").replace(_BLANK, " ")

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        write_text = formatter.write_text  # this help breaks lines at blanks only
        formatter.write_text = lambda text: write_text(text.replace("-", _HYPHEN))
        super().format_help_text(ctx, formatter)

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Do nothing: `format_options` aligns arguments with options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments and options, group by group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        rest: list[tuple[str, str]] = []
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            name, text = record
            title = getattr(param, "panel", "")
            if isinstance(param, click.Argument):
                title = "Arguments"
                text += "  [required]" if param.required else ""
            shown = groups.setdefault(title, []) if title else rest
            shown.append((name, _keep_unbroken(text)))
        groups["Other" if groups else "Options"] = rest
        widest = max(len(name) for rows in groups.values() for name, _ in rows)
        for title, rows in groups.items():
            # write_dl aligns each group separately; a common alignment is easier to read
            rows[0] = (rows[0][0].ljust(min(widest, _MOST_NAME)), rows[0][1])
            with formatter.section(title):
                formatter.write_dl(rows, col_max=_MOST_NAME)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Parse `args`. Raises InvalidArgument if an option that takes one value is repeated.

        Click would use the last value.
        """
        if not ctx.resilient_parsing:  # set during shell completion
            self._refuse_repetition(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise _suggest_option(error, self.get_params(ctx)) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an InvalidArgument about one of its options names the option."""
        from leastnoise.errors import InvalidArgument

        try:
            return super().invoke(ctx)
        except InvalidArgument as error:
            written = {str(param.name).replace("_", "-"): param.opts[0] for param in self.params}
            name = written.get(error.name.replace("_", "-"), "")
            if not name.startswith("--"):
                raise
            raise InvalidArgument(
                name=name, value=error.value, expected=error.expected, hint=error.hint
            ) from None

    def _refuse_repetition(self, args: Sequence[str]) -> None:
        from leastnoise.errors import InvalidArgument

        before_dashes = args[: args.index("--")] if "--" in args else args
        given = Counter(text.partition("=")[0] for text in before_dashes)
        for param in self.params:
            if isinstance(param, click.Option) and not (param.multiple or param.is_flag):
                for name in param.opts:
                    if (times := given[name]) > 1:
                        expected = f"{name} to be given once"
                        raise InvalidArgument(name=name, value=f"{times} times", expected=expected)


@final
class CommandGroup(Command, click.Group):
    """A group of commands."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, each with its whole summary, then the options."""
        rows = [
            # characters: more than any summary has
            (name, command.get_short_help_str(limit=10**6))
            for name, command in self.commands.items()
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
        super().format_options(ctx, formatter)


def complaint(error: click.UsageError) -> str:
    """The text for a usage error, with a hint at --help if the command is known.

    If no command was given, the text is the help itself.
    """
    text = error.format_message()
    if error.ctx is not None and text == error.ctx.get_help():
        return text
    text = f"leastnoise: {_words.plain(text)}"
    return text if error.ctx is None else f"{text}\nHelp: {error.ctx.command_path} --help"


def _suggest_option(
    error: click.NoSuchOption, params: Sequence[click.Parameter]
) -> click.UsageError:
    """The error about an unknown option; it suggests an option with a similar name, if any."""
    known = {
        name.lstrip("-"): name
        for param in params
        if isinstance(param, click.Option)
        for name in param.opts
    }
    shown = _words.plain(error.option_name)
    text = f"No such option: {shown}."
    # the dashes would count as equal letters
    if (close := _validate.nearest_name(shown.lstrip("-"), tuple(known))) is not None:
        text += f" Did you mean {known[close]}?"
    return click.UsageError(text, ctx=error.ctx)


def _keep_unbroken(text: str) -> str:
    """Replace hyphens, and the blank in "[default: VALUE]", so that help doesn't break there."""
    text, default, value = text.replace("-", _HYPHEN).partition("[default: ")
    return text + default[:-1] + _BLANK + value if default else text
