"""The page of the commands: `tidemark` as its parser declares it, and the targets of `make`."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import typer

from docs.generate.exit_codes import CODES, code_of
from docs.generate.markdown import anchor, block, code, link, sentence, table, wrapped
from spark_jobs.cli.app import app
from spark_jobs.cli.examples import EXAMPLES

_ROOT = Path(__file__).resolve().parents[2]
_NO_BREAK = "\u00a0"
_INTRODUCTION = """\
`tidemark` works on one pipeline, without Airflow. Progress goes to standard error. The answer goes to standard output;
with `--json` it is one JSON object. Times are ISO 8601, and UTC unless they have an offset. `NaN`, infinities,
decimals, bytes and keys of maps are texts.

`tidemark --install-completion` completes commands and options in your shell: bash, zsh or fish. Ctrl-C ends a command
with exit code 130, and one sentence: what is kept, and how to continue.
"""


def page() -> str:
    """Return the page."""
    parts = ["# Commands\n", _INTRODUCTION, "## Exit codes\n", _exit_codes(), "## Overview\n"]
    rows = (
        (link(code(f"tidemark {name}"), f"#tidemark-{name}"), _help(command)) for name, command in commands().items()
    )
    parts.append(table(("command", "effect"), rows))
    for name, command in commands().items():
        parts += _section(name, command)
    parts += ["## `make`\n", "Targets of the `Makefile`, run in the checkout.\n"]
    parts.append(table(("target", "effect"), ((code(f"make {name}"), text) for name, text in targets().items())))
    return "\n".join(parts)


def commands() -> Mapping[str, Any]:
    """Return the commands by name, in the order of `tidemark --help`."""
    group: Any = typer.main.get_command(app)
    return dict(group.commands)


def targets() -> dict[str, str]:
    """Return the described targets of the Makefile."""
    return dict(re.findall(r"^([a-z]+):.*?## (.+)$", (_ROOT / "Makefile").read_text(), re.MULTILINE))


def _exit_codes() -> str:
    rows = ((str(number), meaning, _errors(number)) for number, meaning in CODES.items())
    return table(("exit code", "meaning", "errors"), rows)


def _errors(number: int) -> str:
    if number == 0:
        return ""
    names = [name for name, exit_code in code_of().items() if exit_code == number]
    every = ", ".join(link(code(name), f"errors.md#{name.lower()}") for name in names)
    return every if number != 1 else "any other"


def _section(name: str, command: Any) -> Iterator[str]:
    yield f"## {code(f'tidemark {name}')}\n"
    # An option and its value stay in one line.
    usage = f"tidemark {name} {' '.join(part.replace(' ', _NO_BREAK) for part in _usage(command))}"
    effect = wrapped(_help(command), "# ", "# ")
    yield block(
        f"{effect}\n{wrapped(usage).replace(_NO_BREAK, ' ')}\n\n# For example:\ntidemark {name} {EXAMPLES[name]}",
        "bash",
        not_run="the test of this page parses the example",
    )
    rows = (_row(name, parameter) for parameter in command.params)
    yield table(("argument or option", "value", "default", "meaning"), rows)


def _usage(command: Any) -> Iterator[str]:
    for parameter in command.params:
        if _is_option(parameter):
            text = parameter.opts[0] if parameter.is_flag else f"{parameter.opts[0]} {_metavar(parameter)}"
        else:
            text = _metavar(parameter)
        yield text if parameter.required else f"[{text}]{'...' if parameter.multiple else ''}"


def _is_option(parameter: Any) -> bool:
    return bool(parameter.opts[0].startswith("-"))


def _row(command: str, parameter: Any) -> tuple[str, str, str, str]:
    name = parameter.opts[0] if _is_option(parameter) else _metavar(parameter)
    target = anchor(f"tidemark-{command}-{parameter.opts[0].lstrip('-')}")
    return f"{target}{code(name)}", _value(parameter), _default(parameter), sentence(parameter.help or "")


def _metavar(parameter: Any) -> str:
    return str(parameter.metavar or parameter.opts[0].lstrip("-").replace("-", "_").upper())


def _value(parameter: Any) -> str:
    if getattr(parameter, "is_flag", False):
        return "flag"
    least = getattr(parameter, "min", None)
    kind = {int: "whole number"}.get(parameter.type_descriptor.annotation, "text")
    several = ", may be repeated" if parameter.multiple else ""
    return f"{kind}{'' if least is None else f', at least {least}'}{several}"


def _default(parameter: Any) -> str:
    if parameter.required:
        return "required"
    value = getattr(parameter, "default", None)
    return "none" if value in (None, "", False, [], ()) else code(value)


def _help(command: Any) -> str:
    return sentence(" ".join((command.help or "").split()))
