"""To look at tokenizers: a page of tokens, live or in a file, and plots.

Optional: it imports the core, and nothing in the core imports it.
"""
