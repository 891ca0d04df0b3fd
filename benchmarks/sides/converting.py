"""Converting: whole processes, from one file to another."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeAlias

Side: TypeAlias = "tuple[Callable[[], Any], Callable[[Any], object]]"


def command(words: list[str]) -> Callable[[], None]:
    """``bpe-interop WORDS``, as its console script runs it; ends the process where that fails."""

    def run() -> None:
        from bpe_interop.cli import main

        sys.argv = ["bpe-interop", *words]
        try:
            main()
        except SystemExit as done:
            if done.code:
                raise SystemExit(f"bpe-interop {words[0]} ended with {done.code}") from None

    return run


def _json_written(out: str) -> Callable[[Any], object]:
    def check(result: Any) -> object:
        from .answers import of_tokenizer_json

        return of_tokenizer_json(f"{out}/tokenizer.json")

    return check


def ours(source: str, out: str, to: str, preset: str = "", verify: str = "") -> Side:
    """``bpe-interop convert``, without checking unless ``verify`` says so."""
    words = ["convert", source, f"{out}/to", "--to", to]
    words += ["--preset", preset] * bool(preset) + ["--no-verify"] * (not verify)
    return command(words), _json_written(f"{out}/to")


def ours_to_gguf(source: str, out: str) -> Side:
    """``bpe-interop convert`` to a GGUF file, checked, with what llama.cpp cannot hold dropped."""
    words = ["convert", source, f"{out}/to.gguf", "--to", "gguf"]
    words += ["--drop", "added", "--drop", "pretokenizer"]
    return command(words), lambda result: None


def inspect(source: str) -> Side:
    """``bpe-interop inspect``."""
    return command(["inspect", source]), lambda result: None


def ours_to_ranks(source: str, out: str) -> Side:
    """``bpe-interop convert`` to a rank file."""
    target = f"{out}/to.tiktoken"

    def check(result: Any) -> object:
        from base64 import b64decode

        from .answers import of_ranks

        lines = Path(target).read_bytes().splitlines()
        return of_ranks({b64decode(token): int(n) for token, n in map(bytes.split, lines)}, ())

    return command(["convert", source, target, "--to", "tiktoken", "--no-verify"]), check


def tiktoken_converter(source: str, out: str, preset: str) -> Side:
    """``transformers.convert_slow_tokenizer.TikTokenConverter`` with the right pattern."""
    from .patterns import PATTERNS, SPECIAL

    def run() -> None:
        made = (
            import_module("transformers.convert_slow_tokenizer")
            .TikTokenConverter(
                vocab_file=source,
                pattern=PATTERNS[preset],
                extra_special_tokens=list(SPECIAL[preset]),
            )
            .converted()
        )
        made.save(f"{out}/tokenizer.json")

    return run, _json_written(out)


def kitoken(source: str, out: str) -> Side:
    """kitoken reads a rank file, and writes its own format."""
    target = f"{out}/to.kit"

    def run() -> None:
        import_module("kitoken").Kitoken.from_tiktoken_file(source).to_file(target)

    def check(result: Any) -> object:
        from .answers import of_ids

        return of_ids(import_module("kitoken").Kitoken.from_file(target).encode)

    return run, check


def llama_tokenizer(source: str, out: str) -> Side:
    """``transformers.LlamaTokenizer`` on a folder with nothing but the ``.model``, and save."""

    def run() -> None:
        kind = import_module("transformers").LlamaTokenizer
        kind.from_pretrained(source).save_pretrained(out)

    return run, _json_written(out)


def autotiktokenizer(source: str) -> Side:
    """``AutoTikTokenizer.from_pretrained`` on a folder."""

    def run() -> Any:
        return import_module("autotiktokenizer").AutoTikTokenizer.from_pretrained(source)

    return run, _ranks


def tiktokenizer(source: str, out: str) -> Side:
    """``TikTokenizer.create`` on a folder."""

    def run() -> Any:
        return import_module("tiktokenizer").TikTokenizer.create(source, cache_dir=out)

    return run, _ranks


def _ranks(encoding: Any) -> object:
    from .answers import of_ranks

    special = [token.encode("utf-8") for token in encoding._special_tokens]
    return of_ranks(encoding._mergeable_ranks, special)
