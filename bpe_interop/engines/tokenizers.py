"""tokenizers (https://github.com/huggingface/tokenizers) as an engine.

It runs a ``tokenizer.json``; its ``BPE`` also runs a GPT-2 pair, and minbpe's models (minbpe itself
is in no package index).
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import islice
from typing import TYPE_CHECKING

from ..errors import EngineError, PatternError, UnstatedError
from ..formats import Files, by_name
from ..model import AddedToken, BPEModel, PairList
from ..quoting import show
from ..steps import Pattern, PreTokenizerStep, Split
from ..text.bytechars import to_chars
from ..text.patterns import as_run, asks_other_tables, emit, is_misread
from .library import LibraryEngine, Special, folder_of, guarded, installed, library, reading

if TYPE_CHECKING:
    from tokenizers import Tokenizer


class TokenizersEngine(LibraryEngine):
    """A ``tokenizers.Tokenizer`` as an engine; truncation and padding are switched off.

    ``special="text"`` sets ``encode_special_tokens``, a state of the object which threads share:
    several may ask in the same way at once, and who asks in the other one waits.
    """

    # A copy for each way would take as long as reading the file, and as much memory.

    name = "tokenizers"

    def __init__(self, tokenizer: Tokenizer) -> None:
        self.version = installed("tokenizers") or ""
        tokenizer.no_truncation()
        tokenizer.no_padding()
        tokenizer.encode_special_tokens = True
        self._tokenizer = tokenizer
        self._way: Special = "text"
        self._asking = 0
        self._turn = threading.Condition()

    def _encode(self, text: str, special: Special, add_special_tokens: bool) -> list[int]:
        with self._asked(special) as tokenizer:
            return tokenizer.encode(text, add_special_tokens=add_special_tokens).ids

    def _encode_batch(
        self, texts: list[str], special: Special, add_special_tokens: bool
    ) -> list[list[int]]:
        with self._asked(special) as tokenizer:
            encodings = tokenizer.encode_batch_fast(texts, add_special_tokens=add_special_tokens)
        return [encoding.ids for encoding in encodings]

    def _decode(self, ids: list[int]) -> str:
        # tokenizers passes over an id that it does not know.
        return self._tokenizer.decode(ids, skip_special_tokens=False)

    def decode_batch(self, rows: Sequence[Sequence[int]]) -> list[str]:
        """The text of each row of ids, in threads.

        Raises:
            EngineError: as :meth:`decode`; in a batch the library does not say on which row.
        """
        with guarded(self.name, f"to decode one of {len(rows)} rows of ids"):
            return self._tokenizer.decode_batch([[*row] for row in rows], skip_special_tokens=False)

    @contextmanager
    def _asked(self, special: Special) -> Iterator[Tokenizer]:
        """The tokenizer, which finds special tokens in that way until the block ends."""
        with self._turn:
            while self._asking and self._way != special:
                self._turn.wait()
            if self._way != special:
                self._tokenizer.encode_special_tokens = special == "text"
                self._way = special
            self._asking += 1
        try:
            yield self._tokenizer
        finally:
            with self._turn:
                self._asking -= 1
                if not self._asking:
                    self._turn.notify_all()


def read(files: Files, model: BPEModel | None = None) -> TokenizersEngine:
    """Reads ``tokenizer.json`` (or the one JSON file that there is), which says all.

    Raises:
        EngineMissingError, EngineError: as :func:`engines.from_files`.
    """
    tokenizers = library("tokenizers")
    from ..formats.huggingface import main_file

    name = main_file(files)
    with reading("tokenizers", name):
        return TokenizersEngine(tokenizers.Tokenizer.from_buffer(files[name]))


def read_pair(files: Files, model: BPEModel | None) -> TokenizersEngine:
    """``BPE.from_file`` on the pair, inside the model's own pipeline.

    The pair states neither pattern nor special tokens, so both come from the model.

    Raises:
        EngineMissingError: tokenizers is not installed.
        EngineError: tokenizers refuses the pair, or numbers an added token otherwise.
        UnstatedError: the model does not state the pattern.
    """
    tokenizers = library("tokenizers")
    if model is None or model.pretokenizer is None:
        raise UnstatedError(
            "a GPT-2 pair does not state the pattern that splits texts",
            fix="name a preset with --preset (preset=...), for example gpt2",
        )
    vocab, merges = _halves_of_pair(files)
    pair = {"vocab.json": vocab, "merges.txt": merges}
    with reading("tokenizers", "the pair"), folder_of(pair) as folder:
        bpe = tokenizers.models.BPE.from_file(*(str(folder / name) for name in pair))
        tokenizer = _pipeline(tokenizers.Tokenizer, model)
        tokenizer.model = bpe
        for token in sorted(model.added or (), key=lambda token: token.id):
            _add_token(tokenizer, tokenizers.AddedToken, token)
    return TokenizersEngine(tokenizer)


def _halves_of_pair(files: Files) -> tuple[bytes, bytes]:
    vocabularies = [name for name in files if name.endswith(".json")]
    merges = [name for name in files if name.endswith((".bpe", ".txt"))]
    if len(vocabularies) != 1 or len(merges) != 1:
        raise EngineError(f"expected a GPT-2 pair, found {', '.join(sorted(files)) or 'none'}")
    return files[vocabularies[0]], files[merges[0]]


def _pipeline(kind: type[Tokenizer], model: BPEModel) -> Tokenizer:
    """The model's normalizer, pre-tokenizer and decoder; its merges are another's to bring.

    The vocabulary stays: which spellings of a pattern split alike can depend on it.
    """
    shell = replace(model, merges=PairList(()), added=(), sequence_template=None)
    files = by_name("huggingface").dump(shell)
    return kind.from_str(files["tokenizer.json"].decode("utf-8"))


def _add_token(tokenizer: Tokenizer, kind: type, token: AddedToken) -> None:
    entry = kind(
        token.text,
        single_word=token.single_word,
        lstrip=token.lstrip,
        rstrip=token.rstrip,
        normalized=token.normalized,
        special=token.special,
    )
    if token.special:
        tokenizer.add_special_tokens([entry])
    else:
        tokenizer.add_tokens([entry])
    number = tokenizer.token_to_id(token.text)
    if number != token.id:
        raise EngineError(
            f"tokenizers numbers the added token {show(token.text)} {number}, not {token.id}: "
            "a pair has no place for its id"
        )


def read_minbpe(files: Files, model: BPEModel | None = None) -> TokenizersEngine:
    """The file's ids, merges and special tokens in ``BPE``, behind its pattern.

    Ids and merges are read here once more and handed over as they stand. The classes of the
    pattern are spelled out as the installed ``regex`` has them, which is what minbpe runs.

    Raises:
        EngineMissingError: tokenizers is not installed.
        EngineError: tokenizers refuses them, or cannot match the pattern as minbpe does.
        FormatError: the file is malformed.
    """
    tokenizers = library("tokenizers")
    own = by_name("minbpe").load(files)
    (name,) = own.origin.files
    text = files[name].decode("utf-8").replace("\r\n", "\n").replace("\r", "\n")
    lines = iter(text.removesuffix("\n").split("\n"))
    special = [line.split() for line in islice(lines, 3, 3 + len(own.added or ()))]
    tokens = [bytes([byte]) for byte in range(256)]
    merges: list[tuple[str, str]] = []
    for line in lines:
        left, right = map(int, line.split())
        merges.append((to_chars(tokens[left]), to_chars(tokens[right])))
        tokens.append(tokens[left] + tokens[right])
    vocab = {to_chars(token): number for number, token in enumerate(tokens)}
    for word, _ in special:
        if word in vocab:
            raise EngineError(
                f"tokenizers runs minbpe's files, and cannot tell the special token {show(word)} "
                "from the token that it spells in letters for bytes",
                fix="write it without the check: --no-verify (verify=False)",
            )
    # tokenizers takes the number of an added token from the vocabulary where it stands there.
    vocab |= {word: int(number) for word, number in special}
    # What is spelled out may be longer than a pattern that is read may be (limits.py).
    spelled = [_with_its_tables(step) for step in own.pretokenizer or ()]
    cuts = () if any(spelled) else own.pretokenizer
    shell = replace(own, merges=PairList(()), added=(), pretokenizer=cuts)
    shape = by_name("huggingface").dump(shell)["tokenizer.json"].decode("utf-8")
    with reading("tokenizers", "the minbpe model"):
        tokenizer = tokenizers.Tokenizer.from_str(shape)
        if not cuts:
            parts = [
                tokenizers.pre_tokenizers.Split(tokenizers.Regex(each), "removed", invert=True)
                for each in filter(None, spelled)
            ]
            letters = tokenizers.pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)
            tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Sequence([*parts, letters])
        tokenizer.model = tokenizers.models.BPE(vocab=vocab, merges=merges)
        tokenizer.add_special_tokens(
            [tokenizers.AddedToken(word, special=True, normalized=False) for word, _ in special]
        )
    for word, number in special:
        if tokenizer.token_to_id(word) != int(number):
            raise EngineError(f"tokenizers numbers {show(word)} otherwise than {number}")
    return TokenizersEngine(tokenizer)


def _with_its_tables(step: PreTokenizerStep) -> str:
    """A splitter's pattern with the classes of ``regex`` as ranges; empty where it asks for none.

    Its matches are the pretokens, as of every splitter of minbpe's.
    """
    if not isinstance(step, Split) or not asks_other_tables(step):
        return ""
    assert isinstance(step.pattern, Pattern)
    if is_misread(step.pattern):
        raise EngineError(
            f"tokenizers cannot match {step.pattern.source!r} as Python's regex does, which may "
            "take it for another pattern"
        )
    try:
        return emit(as_run(step.pattern), "oniguruma")
    except PatternError:
        return ""
