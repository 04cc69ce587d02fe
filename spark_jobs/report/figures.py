"""The common look of Bokeh figures on all pages: frame, tools, colours and tooltips.

Colours are roles of the palette, set as tags: the page applies them for the reader's colour scheme.
"""

from __future__ import annotations

from typing import Any, Literal

from bokeh.models import HoverTool, Model, NoOverlap
from bokeh.plotting import figure

from spark_jobs.report.palette import PALETTE, PAPER

#: While there are so few points, each is marked.
FEW = 100

_FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, sans-serif"
_TOOLS = "xpan,box_zoom,xwheel_zoom,reset,save"
_Mode = Literal["mouse", "vline"]


def new_figure(x_label: str, y_label: str, *, height: int, **more: Any) -> figure:
    """Return an empty figure of the page's width and of `height` pixels; `more` are arguments of Bokeh."""
    fig = figure(
        height=height,
        min_width=240,
        sizing_mode="stretch_width",
        tools=_TOOLS,
        active_drag="box_zoom",
        active_scroll=None,
        toolbar_location="above",
        min_border_right=20,
        lod_threshold=None,
        x_axis_label=x_label,
        y_axis_label=y_label,
        **more,
    )
    fig.toolbar.logo = None
    fig.background_fill_color = fig.border_fill_color = fig.border_line_color = None
    fig.xaxis.major_label_policy = NoOverlap(min_distance=8)
    for axis in fig.axis:
        axis.axis_label_text_font = axis.major_label_text_font = _FONT
        axis.axis_label_text_font_style = "normal"
        axis.major_label_text_font_size = axis.axis_label_text_font_size = "12px"
        axis.minor_tick_line_color = None
    return fig


def give_role(model: Model, role: str) -> None:
    """Colour a model; its tag is the role, from which the page derives the colour of the other scheme."""
    model.tags = [role]
    for name in ("line_color", "fill_color"):
        if name in model.properties():
            model.update(**{name: PALETTE[role].light})
    if "hatch_color" in model.properties():
        model.update(hatch_color=PALETTE[PAPER].light)


def add_hover(
    fig: figure, renderers: list[Any], tips: list[tuple[str, str]], *instants: str, mode: _Mode = "mouse"
) -> None:
    """Add a tooltip with `tips` to the renderers; the columns `instants` are milliseconds since 1970."""
    fig.add_tools(
        HoverTool(
            renderers=renderers,
            tooltips=tips,
            formatters=dict.fromkeys(instants, "datetime"),
            mode=mode,
            visible=False,
            point_policy="snap_to_data",
        )
    )
