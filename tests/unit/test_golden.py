"""Our encoder gives the ids and texts that the reference engines gave on the fixtures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from golden_models import FORMATS, NAMES, model_of

from bpe_interop.encode import Encoder
from fixtures import FIXTURES
from fixtures.make_golden import digest


def encode(encoder: Encoder, text: str, mode: str) -> list[int]:
    ids = encoder.encode(text, frozenset() if mode == "ordinary" else "all")
    return encoder.template(ids) if mode == "template" else ids


def test_every_format_has_golden_ids() -> None:
    assert {name.split("/")[1] for name in NAMES} == set(FORMATS)


@pytest.mark.parametrize("name", NAMES)
def test_ids_of_awkward_texts(name: str, golden: Callable[[str], dict[str, Any]]) -> None:
    encoder = Encoder(model_of(name))
    for entry in golden(name)["texts"]:
        for mode, ids in entry["ids"].items():
            assert encode(encoder, entry["text"], mode) == ids, (entry["text"], mode)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_ids_of_corpora(name: str, golden: Callable[[str], dict[str, Any]]) -> None:
    encoder = Encoder(model_of(name))
    for corpus, modes in golden(name)["corpora"].items():
        path = next((FIXTURES / "corpora").glob(f"{corpus}*"))
        text = path.read_bytes().decode("utf-8")
        for mode, expected in modes.items():
            ids = encode(encoder, text, mode)
            assert (len(ids), digest(ids)) == (expected["count"], expected["sha256"])


@pytest.mark.parametrize("name", NAMES)
def test_decoding(name: str, golden: Callable[[str], dict[str, Any]]) -> None:
    encoder = Encoder(model_of(name))
    for entry in golden(name)["decoded"]:
        assert encoder.decode(entry["ids"]) == entry["text"]
        if "text_without_special" in entry:
            text = encoder.decode(entry["ids"], skip_special=True)
            assert text == entry["text_without_special"]
        if "bytes" in entry:
            assert encoder.decode_bytes(entry["ids"]).hex() == entry["bytes"]
