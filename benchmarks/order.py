"""Whose turn it is: A B C, B C A, C A B, and so on, so that nobody is always first."""


def rotated(names: list[str], turn: int) -> list[str]:
    """The names in the order of a turn."""
    if not names:
        return []
    at = turn % len(names)
    return names[at:] + names[:at]
