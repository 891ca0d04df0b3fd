"""Pages about what was found, for people and for CI: JSON, JUnit XML, Markdown and HTML."""

from __future__ import annotations

from .document import as_data, to_json
from .junit import to_junit
from .markdown import to_markdown
from .page import to_html
from .targets import SUFFIXES, Require, check_targets, write_reports

__all__ = [
    "SUFFIXES",
    "Require",
    "as_data",
    "check_targets",
    "to_html",
    "to_json",
    "to_junit",
    "to_markdown",
    "write_reports",
]
