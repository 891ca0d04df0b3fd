"""Random small files of minbpe, tekken.json and GGUF: bytes are merged in all of them.

Engines: minbpe as it is written out in :mod:`fixtures.minbpe_models`, which is in no package
index, with Python's ``regex``; mistral-common; llama.cpp, in a process of its own.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Sequence
from random import Random
from typing import Any, TypeAlias

from bpe_interop.engines import Engine, from_files
from bpe_interop.text.bytechars import BYTE_TO_CHAR, to_bytes
from fixtures import minbpe_models
from fixtures.gguf_models import CONTROL, NORMAL, STRING, USER_DEFINED, by_merges

Json: TypeAlias = dict[str, Any]
Ids: TypeAlias = list[int] | None
Change: TypeAlias = Callable[[Random, Json, str], bool]

LETTERS = (
    *("ab", "ab ", "a. ", "a1 ", "a\n ", "a\u00e9"),
    *(".a\u088f", ".\u0558a", ".\u055a\u0561", ".\u00e9\u00b2"),
)
"""What texts are made of; U+088F and U+0558 are letters to newer tables of Unicode only.

The last ones hold a letter and none that begin with the same byte, or end with it.
"""

PATTERNS = (
    r"\p{L}+|[^\p{L}]+",
    r"[a-z]+|[^a-z]+",
    r"\s?\S+|\s+",
    r"[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+",
    r"(?: ?\p{L}+)| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+",
)
NAMES = ("<s>", "<t>", "ab", "a.", "[X]")
PRE = ("gpt-2", "llama-bpe", "qwen2", "smollm")


# minbpe


def random_minbpe(rng: Random) -> tuple[str, Json, str]:
    """A ``.model``: its format, what stands in it, and its letters."""
    letters = rng.choice(LETTERS)
    merges: list[list[int]] = []
    known = [*letters.encode()]
    for _ in range(rng.randint(1, 7)):
        pair = [rng.choice(known), rng.choice(known)]
        if pair not in merges:
            known.append(256 + len(merges))
            merges.append(pair)
    names = rng.sample(NAMES, rng.choice([0, 0, 1, 2]))
    special = {name: 256 + len(merges) + place for place, name in enumerate(names)}
    pattern = rng.choice(["", *PATTERNS])
    return "minbpe", {"pattern": pattern, "merges": merges, "special": special}, letters


def minbpe_files(facts: Json) -> dict[str, bytes]:
    """The ``.model``."""
    lines = ["minbpe v1", facts["pattern"], str(len(facts["special"]))]
    lines += [f"{name} {number}" for name, number in facts["special"].items()]
    lines += [f"{left} {right}" for left, right in facts["merges"]]
    return {"t.model": "\n".join([*lines, ""]).encode()}


def minbpe_facts(files: dict[str, bytes]) -> Json:
    """What stands in a ``.model`` that this library wrote."""
    [data] = files.values()
    _, pattern, count, *lines = data.decode().removesuffix("\n").split("\n")
    special = dict(line.rsplit(" ", 1) for line in lines[: int(count)])
    return {
        "pattern": pattern,
        "merges": [[int(number) for number in line.split()] for line in lines[int(count) :]],
        "special": {name: int(number) for name, number in special.items()},
    }


class MinbpeOracle:
    """minbpe's own way, with the installed ``regex``."""

    deaf = False
    decodes = True

    def __init__(self, facts: Json) -> None:
        merges = {(left, right): 256 + n for n, (left, right) in enumerate(facts["merges"])}
        self._model = minbpe_models.Model(facts["pattern"], merges, facts["special"])

    def ids(self, texts: Sequence[str], mode: str) -> list[Ids]:
        """The ids of each text."""
        parsing = mode in ("parsed", "templated")
        encode = self._model.encode if parsing else self._model.encode_ordinary
        return [encode(text) for text in texts]

    def decoded(self, ids: Sequence[Ids]) -> list[str | None]:
        """What ids become."""
        known = self._model.contents()
        return [
            None if each is None or not known.keys() >= {*each} else self._model.decode(each)
            for each in ids
        ]


def _merge(rng: Random, facts: Json, letters: str) -> bool:
    merges = facts["merges"]
    if not merges:
        return False
    place = rng.randrange(len(merges))
    pair = [rng.choice([*letters.encode(), *range(256, 256 + place)]) for _ in "lr"]
    if pair in merges:
        return False
    merges[place] = pair
    return True


def _last_merge(rng: Random, facts: Json, letters: str) -> bool:
    if len(facts["merges"]) < 2 or facts["special"]:
        return False
    facts["merges"].pop()
    return True


def _pattern(rng: Random, facts: Json, letters: str) -> bool:
    facts["pattern"] = rng.choice([each for each in PATTERNS if each != facts["pattern"]])
    return True


def _name(rng: Random, facts: Json, letters: str) -> bool:
    new = [name for name in NAMES if name not in facts["special"]]
    if not facts["special"] or not new:
        return False
    old = rng.choice([*facts["special"]])
    chosen = rng.choice(new)
    facts["special"] = {chosen if k == old else k: n for k, n in facts["special"].items()}
    return True


# tekken.json


def random_tekken(rng: Random) -> tuple[str, Json, str]:
    """A ``tekken.json`` with listed special tokens."""
    letters = rng.choice(LETTERS)
    tokens = [bytes([byte]).decode("latin-1") for byte in range(256)]
    known = [*letters.encode().decode("latin-1")]
    for _ in range(rng.randint(1, 7)):
        new = rng.choice(known) + rng.choice(known)
        if new not in tokens:
            known.append(new)
            tokens.append(new)
    special = ["<unk>", "<s>", "</s>", *rng.sample(NAMES[1:], rng.choice([0, 1, 2]))]
    pattern = rng.choice(PATTERNS)
    return "tekken", {"pattern": pattern, "tokens": tokens, "special": special}, letters


def tekken_files(facts: Json) -> dict[str, bytes]:
    """The ``tekken.json``."""
    tokens, special = facts["tokens"], facts["special"]
    config = {
        "pattern": facts["pattern"],
        "num_vocab_tokens": len(tokens),
        "default_vocab_size": len(tokens) + len(special),
        "default_num_special_tokens": len(special),
        "version": "v13",
    }
    rows = [
        {
            "rank": rank,
            "token_bytes": base64.b64encode(token.encode("latin-1")).decode(),
            "token_str": _as_text(token.encode("latin-1")),
        }
        for rank, token in enumerate(tokens)
    ]
    listed = [{"rank": n, "token_str": name, "is_control": True} for n, name in enumerate(special)]
    document = {"config": config, "special_tokens": listed, "vocab": rows}
    return {"tekken.json": json.dumps(document).encode()}


def _as_text(content: bytes) -> str | None:
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _swap_tokens(rng: Random, facts: Json, letters: str) -> bool:
    return swap(rng, facts["tokens"], 256)


def swap(rng: Random, rows: list[Any], first: int) -> bool:
    """Exchanges two rows, of those from ``first`` on; False where there are no two."""
    if len(rows) < first + 2:
        return False
    one, two = rng.sample(range(first, len(rows)), 2)
    rows[one], rows[two] = rows[two], rows[one]
    return True


def _token(rng: Random, facts: Json, letters: str) -> bool:
    tokens = facts["tokens"]
    if len(tokens) > 257 and rng.random() < 0.5:
        del tokens[rng.randrange(256, len(tokens))]
        return True
    new = "".join(rng.choices(letters, k=rng.randint(2, 3))).encode().decode("latin-1")
    if new in tokens:
        return False
    tokens.insert(rng.randint(256, len(tokens)), new)
    return True


def _listed_name(rng: Random, facts: Json, letters: str) -> bool:
    new = [name for name in NAMES if name not in facts["special"]]
    if len(facts["special"]) < 4 or not new:
        return False
    facts["special"][-1] = rng.choice(new)
    return True


# GGUF


_SPACED = (" ", "  ", "\n", "          ")
_OF_PHI_3 = ("</s>", "<unk>", "<s>", "<|endoftext|>")
"""What llama.cpp looks up in a model of that name."""


def random_gguf(rng: Random) -> tuple[str, Json, str]:
    """A GGUF file of GPT-2's kind."""
    letters = rng.choice(LETTERS[:6])
    tokens = [BYTE_TO_CHAR[byte] for byte in range(256)]
    known = [BYTE_TO_CHAR[byte] for byte in letters.encode()]
    merges: list[str] = []
    for _ in range(rng.randint(1, 7)):
        left, right = rng.choice(known), rng.choice(known)
        if left + right not in tokens:
            tokens.append(left + right)
            known.append(left + right)
        merges.append(f"{left} {right}")
    types = [NORMAL] * len(tokens)
    for name in rng.sample(NAMES, rng.choice([0, 1, 2])):
        if name not in tokens:
            tokens.append(name)
            types.append(rng.choice([CONTROL, CONTROL, USER_DEFINED]))
    facts = {
        "tokens": tokens,
        "types": types,
        "merges": list(dict.fromkeys(merges)),
        "pre": rng.choice(PRE),
    }
    if rng.random() < 0.2:
        # Its special tokens take white space along, which another one may begin with.
        spaced = [(f"{rng.choice(_SPACED)}{rng.choice(letters)}", USER_DEFINED)]
        for name, kind in (*((each, CONTROL) for each in _OF_PHI_3), *spaced):
            if name not in tokens:
                tokens.append(name)
                types.append(kind)
        facts["name"] = "phi-3"
    return "gguf", facts, letters


def gguf_files(facts: Json) -> dict[str, bytes]:
    """The head of a GGUF file."""
    own = facts["tokens"], facts["types"], facts["merges"], facts["pre"]
    return {"t.gguf": by_merges(*own, {"general.name": (STRING, facts.get("name", "tiny"))})}


def _moved_merge(rng: Random, facts: Json, letters: str) -> bool:
    merges = facts["merges"]
    if len(merges) < 2:
        return False
    moved = merges.pop(rng.randrange(len(merges)))
    merges.insert(rng.randint(0, len(merges)), moved)
    return True


def _swapped_ids(rng: Random, facts: Json, letters: str) -> bool:
    tokens = facts["tokens"]
    near = [n for n, token in enumerate(tokens) if n > 255 and facts["types"][n] == NORMAL]
    near += [tokens.index(BYTE_TO_CHAR[byte]) for byte in letters.encode()]
    one, two = rng.sample(near, 2)
    tokens[one], tokens[two] = tokens[two], tokens[one]
    return True


def _pre(rng: Random, facts: Json, letters: str) -> bool:
    facts["pre"] = rng.choice([name for name in PRE if name != facts["pre"]])
    return True


def _type(rng: Random, facts: Json, letters: str) -> bool:
    places = [n for n, kind in enumerate(facts["types"]) if kind != NORMAL]
    if not places:
        return False
    place = rng.choice(places)
    facts["types"][place] = CONTROL if facts["types"][place] == USER_DEFINED else USER_DEFINED
    return True


class EngineOracle:
    """An engine of this library as it stands, asked for ids."""

    decodes = True

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.deaf = not engine.parses_special

    def ids(self, texts: Sequence[str], mode: str) -> list[Ids]:
        """The ids of each text."""
        special: Any = "text" if self.deaf or mode in ("ordinary", "text") else "parse"
        template = mode == "templated" and self._engine.applies_template
        found: list[Ids] = []
        for text in texts:
            try:
                found.append(
                    self._engine.encode(text, special=special, add_special_tokens=template)
                )
            except ValueError:
                found.append(None)
        return found

    def decoded(self, ids: Sequence[Ids]) -> list[str | None]:
        """What ids become."""
        return [None if each is None else self._engine.decode(each) for each in ids]


def tekken_oracle(facts: Json) -> EngineOracle:
    """mistral-common."""
    return EngineOracle(from_files("mistral-common", "tekken", tekken_files(facts)))


def gguf_oracle(facts: Json) -> EngineOracle:
    """llama.cpp."""
    return EngineOracle(from_files("llama.cpp", "gguf", gguf_files(facts)))


# All three.

RANDOM = {"minbpe": random_minbpe, "tekken": random_tekken, "gguf": random_gguf}

BYTE_CHANGES: dict[str, dict[str, Change]] = {
    "minbpe": {
        "merge of minbpe": _merge,
        "last merge of minbpe": _last_merge,
        "pattern of minbpe": _pattern,
        "name of a special token of minbpe": _name,
    },
    "tekken": {
        "tokens of tekken swapped": _swap_tokens,
        "token of tekken": _token,
        "pattern of tekken": _pattern,
        "name of a special token of tekken": _listed_name,
    },
    "gguf": {
        "merge of GGUF moved": _moved_merge,
        "ids of GGUF swapped": _swapped_ids,
        "splitter of GGUF": _pre,
        "type of a token of GGUF": _type,
    },
}


def special_texts(format: str, facts: Json) -> list[str]:
    """The texts of special tokens."""
    if format == "gguf":
        return [t for t, kind in zip(facts["tokens"], facts["types"], strict=True) if kind != 1]
    return [*facts["special"]]


def longer_tokens(format: str, facts: Json) -> list[bytes]:
    """The tokens of more than one byte."""
    if format == "gguf":
        contents = [
            to_bytes(t) for t, k in zip(facts["tokens"], facts["types"], strict=True) if k == 1
        ]
    elif format == "tekken":
        contents = [token.encode("latin-1") for token in facts["tokens"]]
    else:
        contents = [bytes([byte]) for byte in range(256)]
        for left, right in facts["merges"]:
            contents.append(contents[left] + contents[right])
    return [content for content in contents if len(content) > 1]
