"""The reference of the command line, from the commands and their options."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import typer

import windtunnel.cli as command_line
from tools.doc_tables import table


def commands() -> str:
    """A list of all commands, then the arguments and options of each one."""
    found: dict[str, Any] = dict(_commands(typer.main.get_command(command_line.app)))
    rows = [
        [f"[`{name}`](#windtunnel-{name.replace(' ', '-')})", _first(command)]
        for name, command in found.items()
    ]
    return "\n\n".join(
        [
            table(["command", "what it does"], rows),
            *(_chapter(name, command) for name, command in found.items()),
        ]
    )


def _commands(group: Any, before: str = "") -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from _commands(command, f"{before}{name} ")
        elif not command.hidden:
            yield before + name, command


def _first(command: Any) -> str:
    return " ".join((command.help or "").split("\n\n")[0].split())


def _chapter(name: str, command: Any) -> str:
    text = [" ".join(part.split()) for part in (command.help or "").split("\n\n")]
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    usage = " ".join(["windtunnel", name, *(f"{_metavar(one)}" for one in arguments)])
    usage += " [OPTIONS]" if options else ""
    if not command.context_settings.get(
        "allow_interspersed_args", True
    ):  # options after the command belong to it
        usage = f"windtunnel {name} [OPTIONS] -- {' '.join(map(_metavar, arguments))}"
    parts = [f"## windtunnel {name}", *text, f"```text\n{usage}\n```"]
    rows = [[f"`{_metavar(one)}`", _words(one)] for one in arguments]
    rows += [[_option(one), _words(one)] for one in options]
    if rows:
        parts.append(table(["argument or option", "meaning"], rows))
    if command.epilog:
        parts.append(f"{command.epilog.partition(': ')[0]}: `{command.epilog.partition(': ')[2]}`")
    return "\n\n".join(parts)


def _metavar(parameter: Any) -> str:
    name = _value(parameter)
    return name if parameter.required or name.startswith("[") else f"[{name}]"


def _value(parameter: Any) -> str:
    return str(parameter.metavar or parameter.name.strip("_").upper())


def _option(option: Any) -> str:
    names = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    return names if option.is_flag else f"{names} `{_value(option)}`"


def _words(parameter: Any) -> str:
    text = " ".join((parameter.help or "").split())
    flag = getattr(parameter, "is_flag", False)
    if flag or parameter.default is None or not parameter.show_default or "default" in text:
        return text
    return f"{text.rstrip('.')}; default: `{parameter.default}`."
