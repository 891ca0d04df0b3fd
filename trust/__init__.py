"""Long tests of what the library promises: one command each, and its table in ``docs/trust/``."""
