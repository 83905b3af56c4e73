"""Commands and groups of commands: their options, help and errors.

Help is in groups (an option's `panel`), in plain text, with no name broken at a hyphen.
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

MOST_DIGITS = 20  # of a whole number
_WHOLE = re.compile(r"[+-]?[0-9]+")
_REAL = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_MOST_NAME = 22  # columns for the names of options; a longer one has a line of its own
_HYPHEN, _BLANK = "\u2011", "\u00a0"

REQUIRED, MANY = object(), object()
"""In place of a default: the option must be there, or may be there several times."""


@final
class OptionType(click.ParamType):
    """What an option takes: its name in help, what its text is read as, what a shell completes.

    Numbers of the mathematics stay texts, which are read exactly where they are used; whole ones
    and those of seconds or effort are read here. With `files` the shell completes names of files.
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
        return [CompletionItem(one) for one in self.complete() if one.startswith(incomplete)]


def among(*names: str) -> OptionType:
    """Return the kind of an option that takes one of `names`, which is checked where it is used."""
    return OptionType("|".join(names), complete=lambda: names)


def _number(text: str, *, whole: bool, name: str) -> int | float:
    """Return the number that `text` is; raises InvalidArgument with the option's name."""
    pattern = _WHOLE if whole else _REAL
    if pattern.fullmatch(text) and not (whole and len(text) > MOST_DIGITS):
        return int(text) if whole else float(text)
    from leastnoise.errors import InvalidArgument, show_value

    hint = f"Write it like {name} {'3' if whole else '0.5'}."
    if not whole:
        hint = _validate.number_like(text) or hint
    expected = "a whole number" if whole else "a number"
    raise InvalidArgument(name=name, value=show_value(text), expected=expected, hint=hint)


class _Option(click.Option):
    """An option with the group of options that help shows it in."""

    def __init__(self, *declared: Any, panel: str = "", **more: Any) -> None:
        super().__init__(*declared, **more)
        self.panel = panel


def option(  # noqa: PLR0917 (tables of options are rows of these)
    panel: str,
    name: str,
    kind: OptionType | None,
    said: str,
    default: object = None,
    /,
    **more: Any,
) -> Callable[[Declared], Declared]:
    """Declare an option; without a kind it is a flag. `default` may be REQUIRED or MANY.

    The name of the command's argument may follow the option's.
    """
    more |= {"is_flag": True} if kind is None else {"type": kind, "show_default": True}
    if default is REQUIRED or default is MANY:
        more["required" if default is REQUIRED else "multiple"] = True
    elif default is not None:
        more["default"] = default
    return click.option(*name.split(), cls=_Option, panel=panel, help=said, **more)


def options_of(panel: str, *rows: tuple[Any, ...]) -> Callable[[Declared], Declared]:
    """Declare options of one group of the help, each by its name, kind, help and default."""
    return together(*(option(panel, *row) for row in rows))


def together(*declared: Callable[[Any], Any]) -> Callable[[Declared], Declared]:
    """Declare several options, in this order."""
    return lambda command: functools.reduce(lambda made, one: one(made), declared[::-1], command)


def argument(
    name: str, kind: OptionType, said: str, default: object = REQUIRED
) -> Callable[[Declared], Declared]:
    """Declare an argument of a command; of MANY there is at least one."""
    more: dict[str, Any] = {"required": default is REQUIRED or default is MANY}
    more |= {"nargs": -1} if default is MANY else {}
    more |= {} if more["required"] else {"default": default}
    return click.argument(name, type=kind, metavar=kind.name, help=said, **more)


class Command(click.Command):
    """A command whose options are given once, but for those that collect a list."""

    def get_help(self, ctx: click.Context) -> str:
        return super().get_help(ctx).replace(_HYPHEN, "-").replace(_BLANK, " ")

    def format_help_text(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        usual = formatter.write_text  # of this one help, whose texts are broken at blanks alone
        formatter.write_text = lambda text: usual(text.replace("-", _HYPHEN))
        super().format_help_text(ctx, formatter)

    def format_arguments(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Leave them to `format_options`, which aligns them with the options."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the arguments and options, group by group."""
        groups: dict[str, list[tuple[str, str]]] = {}
        rest: list[tuple[str, str]] = []
        for one in self.get_params(ctx):
            record = one.get_help_record(ctx)
            if record is None:
                continue
            name, said = record
            title = getattr(one, "panel", "")
            if isinstance(one, click.Argument):
                title = "Arguments"
                said += "  [required]" if one.required else ""
            shown = groups.setdefault(title, []) if title else rest
            shown.append((name, _unbroken(said)))
        groups["Other" if groups else "Options"] = rest
        widest = max(len(name) for rows in groups.values() for name, _ in rows)
        for title, rows in groups.items():
            # write_dl aligns each group by itself; all alike is easier to read
            rows[0] = (rows[0][0].ljust(min(widest, _MOST_NAME)), rows[0][1])
            with formatter.section(title):
                formatter.write_dl(rows, col_max=_MOST_NAME)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Raise InvalidArgument where the parser would take the last of several values."""
        if not ctx.resilient_parsing:  # a shell asks how a line may go on
            self._refuse_repetition(args)
        try:
            return super().parse_args(ctx, args)
        except click.NoSuchOption as error:
            raise _named_with_the_nearest(error, self.get_params(ctx)) from None

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; an error about one of its options calls it as it is written."""
        from leastnoise.errors import InvalidArgument

        try:
            return super().invoke(ctx)
        except InvalidArgument as error:
            written = {str(one.name).replace("_", "-"): one.opts[0] for one in self.params}
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
            if isinstance(one, click.Option) and not (one.multiple or one.is_flag):
                for name in one.opts:
                    if (times := given[name]) > 1:
                        expected = f"{name} to be given once"
                        raise InvalidArgument(name=name, value=f"{times} times", expected=expected)


@final
class CommandGroup(Command, click.Group):
    """A group of commands."""

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the commands, each with its whole summary, then the options."""
        rows = [
            (name, command.get_short_help_str(limit=10**6))  # characters, never reached
            for name, command in self.commands.items()
        ]
        with formatter.section("Commands"):
            formatter.write_dl(rows)
        super().format_options(ctx, formatter)


def complaint(error: click.UsageError) -> str:
    """Return the text of a usage error, and where help is; help alone where nothing was asked."""
    said = error.format_message()
    if error.ctx is not None and said == error.ctx.get_help():
        return said
    said = f"leastnoise: {_words.plain(said)}"
    return said if error.ctx is None else f"{said}\nHelp: {error.ctx.command_path} --help"


def _named_with_the_nearest(
    error: click.NoSuchOption, params: Sequence[click.Parameter]
) -> click.UsageError:
    """Return the error about an unknown option with the one that was meant, if one is near."""
    known = {
        name.lstrip("-"): name
        for one in params
        if isinstance(one, click.Option)
        for name in one.opts
    }
    shown = _words.plain(error.option_name)
    said = f"No such option: {shown}."
    # without the dashes, which make all names alike
    if (close := _validate.nearest_name(shown.lstrip("-"), tuple(known))) is not None:
        said += f" Did you mean {known[close]}?"
    return click.UsageError(said, ctx=error.ctx)


def _unbroken(said: str) -> str:
    """Return `said` with marks at which no line is broken: in names with hyphens, and defaults."""
    said = said.replace("-", _HYPHEN)
    text, default, value = said.partition("[default: ")
    return text + default[:-1] + _BLANK + value if default else text
