"""What click's commands lack: ``--json`` and ``--limit`` on every one, and errors of one line."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import click

from edgeconv.app.cli.lazy import later
from edgeconv.app.cli.param_types import LIMIT, flag, option
from edgeconv.app.terminal import WIDTH
from edgeconv.base import limits
from edgeconv.base.arguments import named
from edgeconv.base.errors import EdgeconvError, Exit, UsageError
from edgeconv.base.names import did_you_mean
from edgeconv.model import model_path

CONTEXT: dict[str, Any] = {
    "help_option_names": ["-h", "--help"],
    "max_content_width": WIDTH,
}
_AS_JSON = "as_json"
_COMMAND = "COMMAND"


class Command(click.Command):
    """A command with ``--json``, passed on as ``as_json``; ``about`` says what it does, and
    ``runs`` which function of ``app.cli.run`` does it (``module:name``)."""

    def __init__(self, name: str, about: str, runs: str, *params: click.Parameter) -> None:
        callback = later(f"edgeconv.app.cli.run.{runs}")
        super().__init__(
            name, callback=callback, params=[*_common_options(), *params], **_texts(about)
        )

    def invoke(self, ctx: click.Context) -> Any:
        """A model that is not there is told of before what reads models is imported."""
        if any(isinstance(each, click.Argument) and each.name == "model" for each in self.params):
            model_path.require(ctx.params["model"])
        return super().invoke(ctx)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """All that is missing is named at once, and no option is taken for another's value."""
        _require_values(self, ctx, args)
        try:
            return super().parse_args(ctx, list(args))
        except click.MissingParameter:
            given, _, _ = self.make_parser(ctx).parse_args(list(args))
            missing = ", ".join(_missing(self, ctx, given))
            raise click.UsageError(
                f"the following arguments are required: {missing}", ctx
            ) from None


class Program(click.Group):
    """Commands in the order in which they were added."""

    def __init__(self, name: str, **given: Any) -> None:
        super().__init__(name, no_args_is_help=False, **given)

    def list_commands(self, ctx: click.Context) -> list[str]:
        return list(self.commands)

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        rest = super().parse_args(ctx, args)
        if not (args or self.invoke_without_command or ctx.resilient_parsing):
            raise click.UsageError(f"the following arguments are required: {_COMMAND}", ctx)
        return rest

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Raises EdgeconvError for a name that is none of a command."""
        if not ctx.resilient_parsing and args[0] not in self.commands:
            raise UsageError(
                "unknown command",
                got=repr(args[0]),
                rule=did_you_mean(args[0], self.commands),
                hint=_see_help(ctx),
            )
        return super().resolve_command(ctx, args)


class Group(Program):
    """A command that has sub-commands of its own, which go by its ``--json`` too; where none is
    named it does what ``runs`` says, as in `Command`."""

    def __init__(self, name: str, about: str, runs: str, *commands: Command) -> None:
        @click.pass_context
        def callback(context: click.Context, /, **given: Any) -> Any:
            named = context.invoked_subcommand
            return Exit.OK if named else later(f"edgeconv.app.cli.run.{runs}")(**given)

        super().__init__(
            name,
            callback=callback,
            params=_common_options(),
            invoke_without_command=True,
            subcommand_metavar="[ACTION ...]",
            commands=commands,
            **_texts(about),
        )


def usage_error(error: click.UsageError) -> EdgeconvError:
    """What click says of wrong usage, in one line and with the tool's exit status."""
    text = " ".join(error.format_message().split()).rstrip(".")
    hint = _see_help(error.ctx) if error.ctx else ""
    rule = _takes(error) if isinstance(error, click.NoSuchOption) else ""
    return UsageError(f"{text[:1].lower()}{text[1:]}", rule=rule, hint=hint)


_FEW = 8  # options of a command that an error lists


def _takes(error: click.NoSuchOption) -> str:
    """Which commands have the option that this one has not, else what this one has, where that is
    not much; "" where one of much the same letters was suggested."""
    if error.ctx is None or not isinstance(error.ctx.command, Command):
        return ""
    group = error.ctx.parent.command if error.ctx.parent else None
    others: Iterable[click.Command] = (
        group.commands.values() if isinstance(group, click.Group) else ()
    )
    owners = [each.name or "" for each in others if error.option_name in _long_options(each)]
    if owners:
        return f"it is an option of {', '.join(owners)}"
    own = _long_options(error.ctx.command)
    return f"there are {', '.join(own)}" if not error.possibilities and len(own) <= _FEW else ""


def _long_options(command: click.Command) -> list[str]:
    options = (each for each in command.params if isinstance(each, click.Option))
    return [max(each.opts, key=len) for each in options]


def _texts(about: str) -> dict[str, Any]:
    text = f"{about[0].upper()}{about[1:]}."
    return {"help": text, "short_help": about, "context_settings": CONTEXT}


def _see_help(ctx: click.Context) -> str:
    return f"see `{ctx.command_path} --help`"


def _common_options() -> list[click.Parameter]:
    return [
        flag(f"--json {_AS_JSON}", "print one JSON document", callback=_json_of_outer),
        option(
            limits.OPTION,
            LIMIT,
            "NAME=VALUE",
            "how much a file may ask for, as model-nodes=500000",
            multiple=True,
            callback=_raise_limits,
            expose_value=False,
        ),
    ]


def _raise_limits(
    ctx: click.Context, _: click.Parameter, values: Iterable[tuple[str, int]]
) -> None:
    """They hold for as long as the command runs."""
    ctx.with_resource(limits.given(named(limits.OPTION, values)))


def _json_of_outer(ctx: click.Context, _: click.Parameter, value: bool) -> bool:
    """``boards --json list`` is ``boards list --json``."""
    return value or bool(ctx.parent and ctx.parent.params.get(_AS_JSON))


def _require_values(command: click.Command, ctx: click.Context, args: list[str]) -> None:
    """Refuses ``--ram --flash 1M``, in which click would take ``--flash`` for a size."""
    options = {
        word: option
        for option in command.get_params(ctx)
        if isinstance(option, click.Option)
        for word in (*option.opts, *option.secondary_opts)
    }
    words = iter(args)
    for word in words:
        if word == "--":
            return
        option = options.get(word)
        if option is None or option.is_flag or option.count:
            continue
        value = next(words, "")
        if value.startswith("--") or value in options:
            raise click.UsageError(f"option {word} needs a value: got {value!r}", ctx)


def _missing(command: click.Command, ctx: click.Context, given: dict[str, Any]) -> Iterator[str]:
    for parameter in command.get_params(ctx):
        value, _ = parameter.consume_value(ctx, given)
        if parameter.required and parameter.value_is_missing(value):
            option = isinstance(parameter, click.Option)
            yield parameter.opts[0] if option else parameter.make_metavar(ctx)
