"""What a shell offers when Tab is pressed: names of formats and presets, and files."""

from __future__ import annotations

import click
from click.shell_completion import CompletionItem


def format_names(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[str]:
    """The names of formats that begin like this, short ones as well."""
    from ..formats import all_formats

    names = [name for row in all_formats() for name in (row.name, *row.aliases)]
    return [name for name in names if name.startswith(begun)]


def preset_names(
    ctx: click.Context, parameter: click.Parameter, begun: str
) -> list[str] | list[CompletionItem]:
    """The names of presets that begin like this; files where there is none."""
    from ..presets import PRESETS

    names = [name for name in PRESETS if name.startswith(begun)]
    return names or file_names(ctx, parameter, begun)


def file_names(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Whatever files there are."""
    return [CompletionItem(begun, type="file")]
