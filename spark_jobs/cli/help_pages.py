"""The pages of `--help`: no flag is shown with a type."""

from __future__ import annotations

from typing import TYPE_CHECKING

from typer.core import TyperCommand, TyperGroup, TyperOption

if TYPE_CHECKING:
    from typer._click.core import Context, Parameter


class HelpfulCommand(TyperCommand):
    """A command whose flags are shown without a type."""

    def get_params(self, ctx: Context) -> list[Parameter]:
        """Return the parameters."""
        return _without_types_of_flags(super().get_params(ctx))


class HelpfulGroup(TyperGroup):
    """A program whose flags are shown without a type."""

    def get_params(self, ctx: Context) -> list[Parameter]:
        """Return the parameters."""
        return _without_types_of_flags(super().get_params(ctx))


def _without_types_of_flags(parameters: list[Parameter]) -> list[Parameter]:
    for parameter in parameters:
        if isinstance(parameter, TyperOption) and parameter.is_flag:
            parameter.metavar = ""
    return parameters
