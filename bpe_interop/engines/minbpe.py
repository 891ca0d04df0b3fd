"""tokenizers' ``BPE`` as the engine of a minbpe model; minbpe itself is in no package index."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

from ..errors import EngineError, PatternError
from ..formats import Files, by_name
from ..model import BPEModel, PairList, show
from ..steps import Pattern, PreTokenizerStep, Split
from ..text.bytechars import to_chars
from ..text.patterns import as_run, asks_other_tables, emit, is_misread
from .library import guarded, library
from .tokenizers import TokenizersEngine


def read(files: Files, model: BPEModel | None = None) -> TokenizersEngine:
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
    with guarded("tokenizers", "on the minbpe model"):
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
