"""Curves as pictures that are readable on a light and on a dark page."""

from __future__ import annotations

import io
import re
from importlib import import_module, util
from typing import Any

from .results import Curve

GREY = "#808080"
COLOURS = ("#3b82c4", "#d97706", "#2e9e6b", "#b45bb8")
"""Of middling lightness, so that they stand out from white and from black."""


def draw(curve: Curve) -> str | None:
    """The picture of a curve as SVG; None where matplotlib is not installed, or nothing to draw."""
    if not curve.series or util.find_spec("matplotlib") is None:
        return None
    matplotlib = import_module("matplotlib")
    matplotlib.use("svg")
    pyplot = import_module("matplotlib.pyplot")
    settings = {"svg.hashsalt": "bpe_interop", "svg.fonttype": "none", "font.size": 9}
    with matplotlib.rc_context(settings):
        figure, axes = pyplot.subplots(figsize=(6.4, 3.2))
        _lines(axes, curve)
        _axes(axes, curve)
        drawn = io.StringIO()
        figure.savefig(
            drawn, format="svg", transparent=True, bbox_inches="tight", metadata={"Date": None}
        )
        pyplot.close(figure)
    # What is left would be a version and paths of fonts, and trailing spaces.
    text = re.sub(r"<!--.*?-->|<metadata>.*?</metadata>", "", drawn.getvalue(), flags=re.DOTALL)
    return re.sub(r"[ \t]+$", "", text, flags=re.MULTILINE)


def _lines(axes: Any, curve: Curve) -> None:
    ends: list[tuple[float, int, str, str]] = []
    for (name, points), colour in zip(curve.series.items(), COLOURS, strict=False):
        sizes, taken = [p.size for p in points], [p.seconds for p in points]
        axes.loglog(sizes, taken, color=colour, marker="o", markersize=3, linewidth=1.4)
        power = curve.slopes.get(name)
        label = name if power is None else f"{name}, n^{power:.2f}"
        ends.append((taken[-1], sizes[-1], label, colour))
    _labels(axes, ends)


def _labels(axes: Any, ends: list[tuple[float, int, str, str]]) -> None:
    """Names beside the ends of the lines, from top to bottom, none on another."""
    axes.get_ylim()  # the scale is only made when it is asked for
    lowest = float("inf")
    for seconds, size, label, colour in sorted(ends, reverse=True):
        _, pixels = axes.transData.transform((size, seconds))
        height = pixels * 72 / axes.figure.dpi
        lowest = min(height, lowest - 11)
        axes.annotate(
            label,
            (size, seconds),
            xytext=(6, lowest - height),
            textcoords="offset points",
            color=colour,
            va="center",
        )


def _axes(axes: Any, curve: Curve) -> None:
    axes.set_xlabel(curve.unit, color=GREY)
    axes.set_ylabel("seconds", color=GREY)
    axes.tick_params(colors=GREY, which="both")
    axes.grid(visible=True, which="major", color=GREY, alpha=0.25, linewidth=0.5)
    for side, spine in axes.spines.items():
        spine.set_visible(side in ("left", "bottom"))
        spine.set_color(GREY)
