"""Damaged files of every format: our ids against the engine's (a short run), and its parts."""

from __future__ import annotations

from random import Random

import pytest

from bpe_interop.compare.sides import AROUND, ORDINARY, PARSED, TEMPLATED
from bpe_interop.encode import Encoder
from bpe_interop.errors import DecodeError, UnstatedError
from bpe_interop.formats import by_name
from trust.encoders import comparing
from trust.encoders.comparing import FORMATS, KNOWN, Found, run, sources
from trust.encoders.damage import damaged


@pytest.mark.long
def test_damaged_files_give_the_engines_ids_or_are_refused() -> None:
    found = run(250, 100)
    assert found.failures == []
    same = {format for format, outcome in found.outcomes if outcome == "the same ids"}
    refused = {format for format, outcome in found.outcomes if outcome == "we refuse it"}
    assert same == refused == set(FORMATS)
    assert found.texts.keys() == {mode.scope for mode in (ORDINARY, PARSED, AROUND, TEMPLATED)}
    assert min(found.texts.values()) > 500
    assert found.decoded > 2000


@pytest.mark.long
@pytest.mark.parametrize("format", FORMATS)
def test_files_that_are_not_damaged_give_the_same_ids(format: str) -> None:
    for _, files in sources(format):
        assert comparing.compared(format, files, Found()) == ("the same ids", "")


def test_damage_changes_files_and_is_the_same_for_one_seed() -> None:
    for format in FORMATS:
        _, files = sources(format)[0]
        one, other = (damaged(files, Random(3)) for _ in range(2))
        assert one == other
        assert any(damaged(files, Random(seed))[0] != files for seed in range(3))


def test_a_wrong_id_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Encoder, "encode", lambda self, text, allowed: [1])
    assert any(failure.startswith("different") for failure in run(20, 100).failures)


def test_a_special_token_that_is_not_found_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    encode = Encoder.encode
    monkeypatch.setattr(Encoder, "encode", lambda self, text, allowed: encode(self, text))
    assert any(PARSED.scope in failure for failure in run(40, 100).failures)


def test_a_wrong_template_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Encoder, "template", lambda self, ids: [*ids, 0])
    assert any(AROUND.scope in failure for failure in run(40, 100).failures)


def test_a_wrong_text_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Encoder, "decode", lambda self, ids: "a")
    assert any("decoded" in failure for failure in run(20, 100).failures)


def test_a_file_that_takes_too_long_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def endless(*arguments: object) -> None:
        while True:
            pass

    monkeypatch.setattr(comparing, "SECONDS", 0.05)
    monkeypatch.setattr(comparing, "compared", endless)
    assert all(failure.startswith("too long") for failure in run(2, 100).failures)


NEGATIVE: tuple[tuple[str, str, bytes, bytes], ...] = (
    ("huggingface", "tokenizer.json", b'"id":700', b'"id":-700'),
    ("gpt2", "encoder.json", b'": 5,', b'": -5,'),
    ("tiktoken", "gpt2-tiny.tiktoken", b" 5\n", b" -5\n"),
    ("tiktoken", "gpt2-tiny.tiktoken.json", b": 700\n", b": -700\n"),
    ("minbpe", "minbpe-tiny.model", b" 480\n", b" -480\n"),
    ("tekken", "tekken.json", b'"rank": 5,', b'"rank": -5,'),
)


@pytest.mark.parametrize(("format", "name", "before", "after"), NEGATIVE)
def test_a_negative_id_in_a_file_is_refused(
    format: str, name: str, before: bytes, after: bytes
) -> None:
    for _, files in sources(format):
        if before in files.get(name, b""):
            changed = {**files, name: files[name].replace(before, after, 1)}
            assert comparing.compared(format, changed, Found()) == ("we refuse it", "")
            return
    pytest.fail(f"no {name} has {before!r}")


@pytest.mark.parametrize("format", FORMATS)
def test_a_negative_id_is_not_decoded(format: str) -> None:
    """A list that is read from its end would give one a text."""
    for _, files in sources(format):
        encoder = Encoder(by_name(format).load(files))
        for decode in (encoder.decode, encoder.decode_bytes):
            with pytest.raises((DecodeError, UnstatedError)):
                decode([-1])


def test_what_only_we_load_is_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*arguments: object) -> None:
        raise ValueError("no")

    monkeypatch.setattr(comparing, "from_files", fails)
    assert any(failure.startswith("only we load it") for failure in run(20, 100).failures)


def test_known_exceptions_have_reasons() -> None:
    assert all(format in FORMATS and words and reason for format, words, reason in KNOWN)
