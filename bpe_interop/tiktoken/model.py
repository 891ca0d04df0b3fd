"""Which encoding a model of OpenAI has, as ``tiktoken.model`` has it."""

from __future__ import annotations

from ..errors import UnknownModelError
from ..openai_encodings import MODEL_PREFIX_TO_ENCODING, MODEL_TO_ENCODING, encoding_of, meant
from .core import Encoding
from .registry import get_encoding, list_encoding_names

__all__ = [
    "MODEL_PREFIX_TO_ENCODING",
    "MODEL_TO_ENCODING",
    "encoding_for_model",
    "encoding_name_for_model",
]


def encoding_for_model(model_name: str) -> Encoding:
    """The encoding of one of OpenAI's models.

    Raises:
        UnknownModelError: no such model is known (also KeyError).
        SourceError, EngineMissingError: as :func:`get_encoding`.
    """
    return get_encoding(encoding_name_for_model(model_name))


def encoding_name_for_model(model_name: str) -> str:
    """The name of the encoding of one of OpenAI's models.

    Raises:
        UnknownModelError: no such model is known (also KeyError).
    """
    encoding = encoding_of(model_name)
    if encoding is None:
        raise UnknownModelError(
            f"no encoding is known for the model {model_name!r}",
            fix=f"{meant(model_name, MODEL_TO_ENCODING)}name the encoding itself: "
            "get_encoding(...) takes "
            f"{', '.join(list_encoding_names())}",
        )
    return encoding
