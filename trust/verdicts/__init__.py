"""Verdicts against the engines."""
