"""Reads and writes tokenizer files: paths to files in memory, and files to a target at once."""
