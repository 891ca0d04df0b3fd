"""Damaged files of every format: our ids against the engine's, and who refuses what."""
