"""``bpe-interop encode``."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

import click

from ..encode.explain import Explained, Explainer
from ..errors import DisallowedSpecialError, SourceError, UnstatedError
from ..gate import template_unsaid
from ..model import BPEModel
from ..presets import ways_to_say
from ..sources import SourceOptions, load_source
from ..text.added_tokens import Allowed
from ..token_files.job import Special
from ..tokenizer import Tokenizer
from .completion import file_names
from .encoded_corpora import CorpusOptions, corpus_options, write_corpora
from .manual import command
from .options import OneOf, gathers, json_option, source_options
from .screen import as_json, as_text, ids_as_json, read_stdin, stdin_lines
from .terminal import tell
from .tokens import (
    Placed,
    explained_as_data,
    show_explained,
    show_tokens,
    tokens_as_data,
)

T = TypeVar("T")


def _one_text(ctx: click.Context, param: click.Parameter, words: tuple[str, ...]) -> str | None:
    if len(words) > 1:
        whole = shlex.quote(" ".join(words))
        raise click.UsageError(
            f"TEXT is one argument, and here are {len(words)}: put quotes around it: {whole}", ctx
        )
    return words[0] if words else None


@command(
    "encode",
    short_help="Print the ids of TEXT, its tokens, or how they were merged.",
    examples={
        'bpe-interop encode my-tok "Hello world" --show': "Show each token",
        'bpe-interop encode my-tok "Hello world" --show --json': (
            "Offsets: where in the text each token stands, in characters and in bytes"
        ),
        "bpe-interop encode my-tok --lines --json < story.txt": "Encode each line of a file",
        "bpe-interop encode my-tok --corpus story.txt -o ids --special text": (
            "Encode a corpus to files that Megatron-LM reads"
        ),
    },
)
@click.argument("source", shell_complete=file_names, metavar="SRC")
@click.argument("text", nargs=-1, metavar="[TEXT]", callback=_one_text)
@click.option("--lines", "by_line", is_flag=True, help="Encode each line (split at LF only).")
@click.option(
    "--special",
    type=OneOf(["text", "parse", "error"]),
    default="error",
    show_default=True,
    help="What a special token's text in the input is: ordinary text, the token, or an error.",
)
@click.option("--add-special-tokens", is_flag=True, help="Apply the sequence template.")
@click.option("--show", "shown", is_flag=True, help="Show each token: its id, bytes and text.")
@click.option(
    "--explain", is_flag=True, help="Show the pretokens, and each merge in order with its rank."
)
@corpus_options
@source_options
@json_option
@gathers(texts=CorpusOptions)
def encode_command(
    source: str,
    text: str | None,
    by_line: bool,
    special: Special,
    add_special_tokens: bool,
    shown: bool,
    explain: bool,
    reading: SourceOptions,
    texts: CorpusOptions,
    json_output: bool,
) -> None:
    """Print the ids of TEXT, or of standard input as it is (nothing is stripped).

    Standard input is one text, held in memory with its ids (some 40 times its size); --lines and
    --corpus, whose lines or documents are texts of their own, take any size.

    With --corpus: write the ids of all documents to the folder -o, by shards, with a manifest.

    With --json: one array of ids; with --lines as well, an array of such arrays. With --show or
    --explain, an array of objects in place of ids; those of --show have offsets: "characters" and
    "bytes" say where in the text each token stands, [start, end].
    """
    if shown and explain:
        raise click.UsageError("--show and --explain are two views: give one")
    texts.check(text is not None or by_line or shown or explain)
    if text is not None and os.path.isfile(text):
        tell(
            f"note: {text} is encoded as a text, and is the name of a file; to encode that: < FILE"
        )
    loaded = load_source(source, **reading)
    if texts.corpora:
        settings = texts.settings(special, add_special_tokens)
        with _advising(loaded.model, special, add_special_tokens):
            write_corpora(source, loaded, reading.get("preset"), settings, texts, json_output)
        return
    tokenizer = Tokenizer(loaded.model)
    if shown or explain:
        view = _ShownTexts(tokenizer, special, add_special_tokens)
        (view.explain if explain else view.show)(_texts(text, by_line), by_line, json_output)
        return
    encoded = (
        _encode(tokenizer, each, special, add_special_tokens) for each in _texts(text, by_line)
    )
    if json_output:
        ids_as_json(list(encoded) if by_line else next(encoded))
        return
    for ids in encoded:
        click.echo(" ".join(map(str, ids)))


def _texts(text: str | None, by_line: bool) -> Iterator[str]:
    if text is None and by_line:
        for number, line in enumerate(stdin_lines(), 1):
            yield as_text(line, where=f"standard input, line {number}")
        return
    if text is None:
        yield as_text(read_stdin())
        return
    if not text.isascii():
        try:
            text.encode("utf-8")
        except UnicodeEncodeError:
            raise SourceError("not UTF-8", where="TEXT", fix="make it UTF-8 first") from None
    if by_line:
        yield from text.removesuffix("\n").split("\n") if text else ()
    else:
        yield text


class _ShownTexts:
    """Texts as tokens and as explanations, for people or as JSON."""

    def __init__(self, tokenizer: Tokenizer, special: str, template: bool) -> None:
        self._tokenizer, self._special, self._template = tokenizer, special, template
        self._explainer = Explainer(tokenizer.model)
        self._allowed: Allowed = "all" if special == "parse" else frozenset()

    def show(self, texts: Iterator[str], by_line: bool, as_data: bool) -> None:
        """Prints the tokens of each text."""
        if not as_data:
            for text in texts:
                show_tokens(text, self._placed(text))
            return
        data = [tokens_as_data(text, self._placed(text)) for text in texts]
        as_json(data if by_line else data[0])

    def explain(self, texts: Iterator[str], by_line: bool, as_data: bool) -> None:
        """Prints how each text was encoded."""
        if not as_data:
            for text in texts:
                show_explained(self._explained(text), self._explainer)
            return
        data = [explained_as_data(self._explained(text)) for text in texts]
        as_json(data if by_line else data[0])

    def _placed(self, text: str) -> list[Placed]:
        self._check(text)
        ids, places = self._explainer.encode_with_offsets(text, self._allowed)
        around = self._around([*zip(ids, places, strict=True)])
        alone = [(each, None) if isinstance(each, int) else each for each in around]
        return [Placed(each, self._explainer.token_bytes(each), place) for each, place in alone]

    def _explained(self, text: str) -> list[Explained | int]:
        self._check(text)
        return self._around(self._explainer.explain(text, self._allowed))

    def _check(self, text: str) -> None:
        """Refuses what encoding refuses, in the same words."""
        _encode(self._tokenizer, text, self._special, self._template)

    def _around(self, inner: list[T]) -> list[T | int]:
        """What was found, and the ids that the sequence template puts around it."""
        if not self._template:
            return [*inner]
        # Numbers below 0 are no ids: they hold the places of what was found.
        places = self._explainer.template([-1 - at for at in range(len(inner))])
        return [inner[-1 - place] if place < 0 else place for place in places]


def _encode(tokenizer: Tokenizer, text: str, special: str, template: bool) -> list[int]:
    with _advising(tokenizer.model, special, template):
        if special == "parse":
            return tokenizer.encode(text, allowed_special="all", add_special_tokens=template)
        disallowed = "all" if special == "error" else ()
        return tokenizer.encode(text, disallowed_special=disallowed, add_special_tokens=template)


@contextmanager
def _advising(model: BPEModel, special: str, template: bool) -> Iterator[None]:
    """A block in which errors name the options that help."""
    try:
        yield
    except DisallowedSpecialError as error:
        raise DisallowedSpecialError(
            error.what,
            where=error.where,
            fix="--special parse encodes it as that token, --special text as ordinary text",
        ) from None
    except UnstatedError as error:
        if template and None not in (model.added, model.pretokenizer):
            raise template_unsaid(model, "--preset") from None
        fix = ways_to_say(model, "--preset")
        if template and model.sequence_template is None:
            fix += "; or leave --add-special-tokens out"
        if special != "text" and model.added is None and model.pretokenizer is not None:
            fix += "\n  or give --special text: the text of special tokens is ordinary text then"
        raise UnstatedError(error.what, where=error.where, fix=fix) from None
