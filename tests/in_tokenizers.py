"""Tokens and ids of a live ``tokenizers.Tokenizer`` that has them."""

from __future__ import annotations

from tokenizers import Tokenizer


def id_of(engine: Tokenizer, token: str) -> int:
    """The id of a token that is there."""
    number = engine.token_to_id(token)
    assert number is not None, token
    return number


def token_of(engine: Tokenizer, number: int) -> str:
    """The token with an id that is there."""
    token = engine.id_to_token(number)
    assert token is not None, number
    return token
