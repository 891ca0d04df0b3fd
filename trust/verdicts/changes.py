"""One thing changed in a tokenizer: often one that should make no difference."""

from __future__ import annotations

import math
import struct
from collections.abc import Callable
from random import Random
from typing import TypeAlias

from bpe_interop.errors import BpeInteropError
from bpe_interop.formats import by_name
from bpe_interop.text.spellings import FAMILIES
from fixtures.piece_model import CONTROL, NORMAL, UNUSED, USER_DEFINED
from fixtures.spellings import SPELLINGS

from . import documents
from .beside import changed_beside, random_beside
from .byte_formats import BYTE_CHANGES, swap
from .documents import FLAGS, add_token, random_merge, random_normalizer, random_splitter
from .sources import Json, Source, spelled, taken_in

Change: TypeAlias = Callable[[Random, Json, str], bool]
"""Changes facts in place; says whether there was something to change."""


def changed(rng: Random, source: Source) -> tuple[str, Source]:
    """Another source, and what was changed: the names of one or two changes, or of none."""
    if rng.random() < (0.1 if source.likely else 0.3):
        written = _in_another_format(rng, source)
        if written is not None:
            if rng.random() < 0.5:
                return f"to {written.format}", written
            name, other = _changed(rng, written)
            return f"to {written.format} + {name}", other
    if rng.random() < 0.03:
        return "nothing", source.copy()
    name, other = _changed(rng, source)
    if rng.random() < 0.25:
        more, other = _changed(rng, other)
        name = f"{name} + {more}"
    return name, other


def with_beside(rng: Random, source: Source) -> None:
    """Puts files beside a source."""
    facts = source.facts
    if source.format == "huggingface":
        words = {
            **facts["model"]["vocab"],
            **{t["content"]: t["id"] for t in facts["added_tokens"]},
        }
    elif source.format == "gpt2":
        words = facts["vocab"]
    elif source.format == "tiktoken":
        words = {token: rank for token, rank in facts["ranks"] if token.isascii()}
        words[""] = max(rank for _, rank in facts["ranks"])  # keeps its id; no token is empty
    elif source.format == "sentencepiece":
        words = {row[0]: number for number, row in enumerate(facts["pieces"])}
    else:
        words = {}
    source.beside = random_beside(rng, source.format, words, source.letters)
    source.likely = ()


def _changed(rng: Random, source: Source) -> tuple[str, Source]:
    if source.beside and rng.random() < 0.5:
        other = source.copy()
        return changed_beside(rng, other.format, other.beside, other.letters), other
    changes = CHANGES[source.format]
    names = [*changes]
    likely = [name for name in source.likely if name in changes]
    for _ in range(50):
        name = rng.choice(likely if likely and rng.random() < 0.7 else names)
        other = source.copy()
        if changes[name](rng, other.facts, other.letters):
            return name, other
    return "nothing", source.copy()


_TARGETS = {
    "tiktoken": ("huggingface", "huggingface", "gpt2", "minbpe"),
    "huggingface": ("tiktoken", "huggingface", "gpt2", "minbpe"),
    "sentencepiece": ("huggingface", "huggingface", "minbpe"),
    "gpt2": ("huggingface", "tiktoken", "minbpe"),
    "minbpe": ("huggingface", "huggingface", "tiktoken", "minbpe"),
    "tekken": ("huggingface", "tiktoken", "minbpe"),
    "gguf": ("huggingface",),
}


def _in_another_format(rng: Random, source: Source) -> Source | None:
    """What this library writes, whether or not the format can hold the source."""
    target = rng.choice(_TARGETS[source.format])
    try:
        files = dict(by_name(target).dump(source.model()))
        return taken_in(target, files, source.letters)
    except (BpeInteropError, ValueError, KeyError, TypeError, StopIteration, AssertionError):
        return None


# tokenizer.json


def _swap_ids(rng: Random, facts: Json, letters: str) -> bool:
    vocab = facts["model"]["vocab"]
    if len(vocab) < 2:
        return False
    one, two = rng.sample(_near(vocab, letters), 2)
    vocab[one], vocab[two] = vocab[two], vocab[one]
    return True


def _near(vocab: Json, letters: str) -> list[str]:
    """The tokens that matter: not all of 256 bytes."""
    if len(vocab) < 60:
        return list(vocab)
    shown = {*letters, *spelled(letters.encode())}
    found = [token for token in vocab if len(token) > 1 or token in shown]
    return found if len(found) > 1 else list(vocab)


def _move_id(rng: Random, facts: Json, letters: str) -> bool:
    vocab = facts["model"]["vocab"]
    if not vocab:
        return False
    token = rng.choice(_near(vocab, letters))
    vocab[token] = max(vocab.values()) + rng.randint(1, 3)
    return True


def _move_merge(rng: Random, facts: Json, letters: str) -> bool:
    merges = facts["model"]["merges"]
    if len(merges) < 2:
        return False
    merges.insert(rng.randrange(len(merges)), merges.pop(rng.randrange(len(merges))))
    return True


def _drop_merge(rng: Random, facts: Json, letters: str) -> bool:
    merges = facts["model"]["merges"]
    if not merges:
        return False
    merges.pop(rng.randrange(len(merges)))
    return True


def _repeat_merge(rng: Random, facts: Json, letters: str) -> bool:
    merges = facts["model"]["merges"]
    if not merges:
        return False
    merges.insert(rng.randint(0, len(merges)), list(rng.choice(merges)))
    return True


def _respelled_merge(rng: Random, facts: Json, letters: str) -> bool:
    """Another way of making a token that there is."""
    model = facts["model"]
    vocab, prefix = model["vocab"], model["continuing_subword_prefix"] or ""
    ways = [
        [token[:at], prefix + token[at:]]
        for token in vocab
        if len(token) < 20
        for at in range(1, len(token))
        if token[:at] in vocab and prefix + token[at:] in vocab
    ]
    ways = [way for way in ways if way not in model["merges"]]
    if not ways:
        return False
    model["merges"].insert(rng.randint(0, len(model["merges"])), rng.choice(ways))
    return True


def _new_merge(rng: Random, facts: Json, letters: str) -> bool:
    model = facts["model"]
    vocab, prefix = model["vocab"], model["continuing_subword_prefix"] or ""
    pair = random_merge(rng, _near(vocab, letters), prefix)
    if pair is None:
        return False
    product = pair[0] + pair[1][len(prefix) :]
    vocab.setdefault(product, max(vocab.values()) + 1)
    if pair not in model["merges"]:
        model["merges"].insert(rng.choice([0, len(model["merges"])]), pair)
    return True


def _token(rng: Random, facts: Json, letters: str) -> bool:
    """A token that no merge makes, more or less."""
    vocab = facts["model"]["vocab"]
    used = {part for pair in facts["model"]["merges"] for part in pair}
    prefix = facts["model"]["continuing_subword_prefix"] or ""
    used |= {a + b[len(prefix) :] for a, b in facts["model"]["merges"]}
    idle = [token for token in _near(vocab, letters) if token not in used]
    if idle and rng.random() < 0.5:
        del vocab[rng.choice(idle)]
        return True
    new = "".join(rng.choices(letters, k=rng.randint(1, 4)))
    new = new if rng.random() < 0.5 else spelled(new.encode())
    suffix = facts["model"]["end_of_word_suffix"] or ""
    new = rng.choice([new, prefix + new, new + suffix])
    if new in vocab:
        return False
    vocab[new] = max(vocab.values(), default=-1) + 1
    return True


def _setting(name: str, *values: object) -> Change:
    def change(rng: Random, facts: Json, letters: str) -> bool:
        others = [value for value in values if value != facts["model"][name]]
        facts["model"][name] = rng.choice(others)
        return True

    return change


def _listed(document: Json, part: str, inner: str) -> list[Json]:
    """The steps of a component, which is made a sequence of them."""
    found = document[part]
    if found is None:
        document[part] = {"type": "Sequence", inner: []}
    elif found["type"] != "Sequence":
        document[part] = {"type": "Sequence", inner: [found]}
    steps: list[Json] = document[part][inner]
    return steps


def _step(part: str, inner: str, make: Callable[[Random, Json], Json]) -> Change:
    """A step more, a step less, two in another order, or one set otherwise."""

    def change(rng: Random, facts: Json, letters: str) -> bool:
        steps = _listed(facts, part, inner)
        chance = rng.random()
        if not steps or chance < 0.3:
            steps.insert(rng.randint(0, len(steps)), make(rng, facts["model"]))
        elif chance < 0.45:
            steps.pop(rng.randrange(len(steps)))
        elif chance < 0.6:
            steps.insert(rng.randrange(len(steps)), steps.pop(rng.randrange(len(steps))))
        else:
            return _set_otherwise(rng, rng.choice(steps))
        return True

    return change


def _idle_step(rng: Random, facts: Json, letters: str) -> bool:
    """A step that finds nothing to do, since those before it leave nothing, or almost nothing."""
    normalizers = _listed(facts, "normalizer", "normalizers")
    splitters = _listed(facts, "pre_tokenizer", "pretokenizers")
    chance = rng.random()
    again = [step for step in normalizers if step["type"] in _ONCE]
    if chance < 0.3 and again:
        step = rng.choice(again)
        normalizers.insert(normalizers.index(step) + rng.choice([1, 1, 0]), dict(step))
    elif chance < 0.6 and splitters:
        place = rng.randrange(len(splitters))
        splitters.insert(place, dict(splitters[place]))
    else:
        space = {"String": " "}
        normalizers.append({"type": "Replace", "pattern": space, "content": "\u2581"})
        behavior, invert = rng.choice(documents.BEHAVIORS), rng.random() < 0.3
        split = {"type": "Split", "pattern": space, "behavior": behavior, "invert": invert}
        cut = {"type": "CharDelimiterSplit", "delimiter": " "}
        splitters.insert(rng.choice([0, 0, len(splitters)]), rng.choice([split, split, cut]))
    return True


_ONCE = ("NFC", "NFD", "NFKC", "NFKD", "Lowercase", "StripAccents", "Replace", "Strip", "Nmt")
"""Normalizers that mostly do nothing to what they have made."""


def _set_otherwise(rng: Random, step: Json) -> bool:
    keys = [key for key in step if key not in ("type", "precompiled_charsmap", "str_rep")]
    if not keys:
        return False
    key = rng.choice(keys)
    value = step[key]
    if isinstance(value, bool):
        step[key] = not value
    elif isinstance(value, int):
        step[key] = value + 1
    elif key == "behavior":
        step[key] = rng.choice([b for b in documents.BEHAVIORS if b != value])
    elif key == "prepend_scheme":
        step[key] = rng.choice(["always", "first", "never"])
    elif key == "pattern":
        step[key] = rng.choice(
            [{"String": rng.choice(documents.STRINGS)}, {"Regex": _pattern(rng)}]
        )
    elif key in ("replacement", "delimiter"):
        step[key] = rng.choice("\u2581_ a")
    elif key in ("content", "prepend", "suffix", "prefix"):
        step[key] = rng.choice(["a", "b", " ", "\u2581"])
    else:
        return False
    return True


def _pattern(rng: Random) -> str:
    return rng.choice(documents.PATTERNS)


def _another_spelling(rng: Random, facts: Json, letters: str) -> bool:
    """A pattern in another spelling of its family."""
    splits = []
    for step in _listed(facts, "pre_tokenizer", "pretokenizers"):
        pattern = step.get("pattern")
        if isinstance(pattern, dict) and "Regex" in pattern:
            splits.append(pattern)
    rng.shuffle(splits)
    for pattern in splits:
        others = other_spellings(pattern["Regex"])
        if others:
            pattern["Regex"] = rng.choice(others)
            return True
    return False


def other_spellings(source: str) -> list[str]:
    """The other spellings of a pattern's family."""
    for family in FAMILIES:
        given = {family.preferred, *(p.source for p in (*family.equal, *family.trailing))}
        given |= {documents.TRAILING} if family.name == "cl100k" else set()
        if source in given:
            return sorted(given - {source})
    equal = [
        {"a|b", "[ab]", "(?:b|a)"},
        {"a+", "aa*", "a{1,}"},
        {r"\s+(?!\S)|\S+", r"\s+$|\s+(?=\s)|\S+"},
        {r"[\s\S]", r"[\S\s]"},
        {r"\n+", r"\n\n*"},
        {r"\s+", r"\s\s*"},
    ]
    return sorted({text for texts in equal if source in texts for text in texts} - {source})


def _flag(rng: Random, facts: Json, letters: str) -> bool:
    if not facts["added_tokens"]:
        return False
    token, name = rng.choice(facts["added_tokens"]), rng.choice(FLAGS)
    token[name] = not token[name]
    return True


def _more_added(rng: Random, facts: Json, letters: str) -> bool:
    before = len(facts["added_tokens"])
    add_token(rng, facts, letters)
    return len(facts["added_tokens"]) > before


def _less_added(rng: Random, facts: Json, letters: str) -> bool:
    if not facts["added_tokens"]:
        return False
    facts["added_tokens"].pop(rng.randrange(len(facts["added_tokens"])))
    return True


def _added_order(rng: Random, facts: Json, letters: str) -> bool:
    listed = facts["added_tokens"]
    if len(listed) < 2:
        return False
    listed.insert(rng.randrange(len(listed)), listed.pop(rng.randrange(len(listed))))
    return True


def _added_content(rng: Random, facts: Json, letters: str) -> bool:
    """A special token under another text, with its id."""
    if not facts["added_tokens"]:
        return False
    token = rng.choice(facts["added_tokens"])
    vocab = facts["model"]["vocab"]
    new = rng.choice(
        [
            token["content"][::-1],
            token["content"] + rng.choice(letters),
            "".join(rng.choices(letters, k=2)),
        ]
    )
    if new == token["content"] or new in vocab:
        return False
    if token["content"] in vocab:
        vocab[new] = vocab.pop(token["content"])
        facts["model"]["merges"] = [
            pair
            for pair in facts["model"]["merges"]
            if token["content"] not in (*pair, "".join(pair))
        ]
    token["content"] = new
    return True


def _into_vocabulary(rng: Random, facts: Json, letters: str) -> bool:
    """An added token is written into the vocabulary too, or out of it."""
    vocab = facts["model"]["vocab"]
    if not facts["added_tokens"]:
        return False
    token = rng.choice(facts["added_tokens"])
    if token["content"] in vocab:
        used = {part for pair in facts["model"]["merges"] for part in (*pair, "".join(pair))}
        if token["content"] in used:
            return False
        del vocab[token["content"]]
    elif token["id"] not in vocab.values():
        vocab[token["content"]] = token["id"]
    else:
        return False
    return True


def _name_of_unknown(rng: Random, facts: Json, letters: str) -> bool:
    model = facts["model"]
    vocab, old = model["vocab"], model["unk_token"]
    if old not in vocab or "[UNK]" in vocab or any(old in pair for pair in model["merges"]):
        return False
    vocab["[UNK]"] = vocab.pop(old)
    model["unk_token"] = "[UNK]"
    for token in facts["added_tokens"]:
        token["content"] = "[UNK]" if token["content"] == old else token["content"]
    return True


def _template(rng: Random, facts: Json, letters: str) -> bool:
    old = facts["post_processor"]
    if old is not None and old.get("special_tokens") and rng.random() < 0.5:
        entry = next(iter(old["special_tokens"].values()))
        chance = rng.random()
        if chance < 0.5:
            _rename(old, entry["id"], entry["id"] + "x")
        elif chance < 0.8:
            entry["ids"] = [number + 1 for number in entry["ids"]]
        else:
            old["pair"] = old["pair"][::-1]
        return True
    facts["post_processor"] = documents.random_template(rng, facts)
    return True


def _rename(template: Json, old: str, new: str) -> None:
    """A template's token under another name."""
    entry = template["special_tokens"].pop(old)
    template["special_tokens"][new] = entry | {"id": new, "tokens": [new] * len(entry["ids"])}
    for part in (*template["single"], *template["pair"]):
        if "SpecialToken" in part and part["SpecialToken"]["id"] == old:
            part["SpecialToken"]["id"] = new


def _no_template(rng: Random, facts: Json, letters: str) -> bool:
    had = facts["post_processor"] is not None
    facts["post_processor"] = None
    return had


def _decoder(rng: Random, facts: Json, letters: str) -> bool:
    facts["decoder"] = documents.random_decoder(rng, facts["model"], rng.random() < 0.5)
    return True


def _truncation(rng: Random, facts: Json, letters: str) -> bool:
    facts["truncation"] = {
        "direction": "Right",
        "max_length": rng.randint(1, 3),
        "strategy": "LongestFirst",
        "stride": 0,
    }
    return True


def _padding(rng: Random, facts: Json, letters: str) -> bool:
    facts["padding"] = {
        "strategy": {"Fixed": 3},
        "direction": "Right",
        "pad_to_multiple_of": None,
        "pad_id": 0,
        "pad_type_id": 0,
        "pad_token": "<pad>",
    }
    return True


def _batching(rng: Random, facts: Json, letters: str) -> bool:
    return rng.choice([_truncation, _padding])(rng, facts, letters)


DOCUMENT: dict[str, Change] = {
    "ids swapped": _swap_ids,
    "id moved": _move_id,
    "merge moved": _move_merge,
    "merge dropped": _drop_merge,
    "merge repeated": _repeat_merge,
    "other merge of a token": _respelled_merge,
    "new merge": _new_merge,
    "idle token": _token,
    "ignore_merges": _setting("ignore_merges", True, False),
    "fuse_unk": _setting("fuse_unk", True, False),
    "byte_fallback": _setting("byte_fallback", True, False),
    "unk_token": _setting("unk_token", None, "<unk>", "<none>", "a", "b"),
    "prefix": _setting("continuing_subword_prefix", None, "", "##", "b"),
    "suffix": _setting("end_of_word_suffix", None, "", "</w>", "b"),
    "normalizer step": _step("normalizer", "normalizers", lambda rng, _: random_normalizer(rng)),
    "splitter step": _step("pre_tokenizer", "pretokenizers", lambda rng, _: random_splitter(rng)),
    "step that has nothing to do": _idle_step,
    "other spelling of a pattern": _another_spelling,
    "flag of an added token": _flag,
    "added token more": _more_added,
    "added token less": _less_added,
    "added tokens in another order": _added_order,
    "text of an added token": _added_content,
    "added token in the vocabulary": _into_vocabulary,
    "name of the unknown token": _name_of_unknown,
    "template": _template,
    "no template": _no_template,
    "decoder": _decoder,
    "decoder step": _step("decoder", "decoders", documents.random_decoding),
    "truncation or padding": _batching,
}


# Rank files.


def _swap_ranks(rng: Random, facts: Json, letters: str) -> bool:
    rows = facts["ranks"]
    shown = set(letters.encode().decode("latin-1"))
    near = [row for row in rows if len(row[0]) > 1 or row[0] in shown]
    if len(near) < 2:
        return False
    one, two = rng.sample(near, 2)
    one[1], two[1] = two[1], one[1]
    return True


def _rank_token(rng: Random, facts: Json, letters: str) -> bool:
    rows = facts["ranks"]
    long = [row for row in rows if len(row[0]) > 1]
    if long and rng.random() < 0.5:
        rows.remove(rng.choice(long))
        return True
    new = "".join(rng.choices(letters, k=rng.randint(2, 4))).encode().decode("latin-1")
    if any(row[0] == new for row in rows):
        return False
    taken = {*(row[1] for row in rows), *facts["special_tokens"].values()}
    free = [number for number in range(len(rows) + 1) if number not in taken]
    rows.append([new, rng.choice([max(taken) + 1, *free])])
    return True


def _rank_pattern(rng: Random, facts: Json, letters: str) -> bool:
    others = other_spellings(facts["pat_str"])
    if others and rng.random() < 0.7:
        facts["pat_str"] = rng.choice(others)
    else:
        facts["pat_str"] = rng.choice([_pattern(rng), *(p.source for p in SPELLINGS.values())])
    return True


def _rank_special(rng: Random, facts: Json, letters: str) -> bool:
    special = facts["special_tokens"]
    taken = {*(row[1] for row in facts["ranks"]), *special.values()}
    chance = rng.random()
    if special and chance < 0.3:
        special.pop(rng.choice(list(special)))
    elif special and chance < 0.6:
        special[rng.choice(list(special))] = max(taken) + rng.randint(1, 2)
    else:
        text = "".join(rng.choices(letters, k=rng.randint(1, 3)))
        special.setdefault(text, max(taken) + 1)
    return True


RANKS: dict[str, Change] = {
    "ranks swapped": _swap_ranks,
    "token of a rank file": _rank_token,
    "pattern of a rank file": _rank_pattern,
    "special token of a rank file": _rank_special,
}


# SentencePiece models.


def _score(rng: Random, facts: Json, letters: str) -> bool:
    rows = [row for row in facts["pieces"] if row[2] in (NORMAL, UNUSED, USER_DEFINED)]
    if len(rows) < 2:
        return False
    row, other = rng.sample(rows, 2)
    chance = rng.random()
    if chance < 0.2:
        row[1] = 0.0 if math.copysign(1, row[1]) < 0 else -0.0
    elif chance < 0.4:
        row[1] = other[1]
    elif chance < 0.6:
        row[1], other[1] = other[1], row[1]
    elif chance < 0.8:
        row[1] = _next_float(other[1], rng.choice([1, -1]))
    else:
        row[1] = row[1] / 2
    return True


def _next_float(value: float, by: int) -> float:
    """The float32 beside one."""
    bits = struct.unpack("<i", struct.pack("<f", value))[0]
    if bits & 0x7FFFFFFF == 0:
        return math.copysign(2.0**-149, by)
    found: float = struct.unpack("<f", struct.pack("<i", bits + by))[0]
    return found if math.isfinite(found) else value


def _same_sign(rng: Random, facts: Json, letters: str) -> bool:
    """Zeros of the other sign become zeros of one."""
    rows = [row for row in facts["pieces"] if row[1] == 0 and row[2] == NORMAL]
    if not rows:
        return False
    sign = rng.choice([0.0, -0.0])
    changed = any(math.copysign(1, row[1]) != math.copysign(1, sign) for row in rows)
    for row in rows:
        row[1] = sign
    return changed


def _kind(rng: Random, facts: Json, letters: str) -> bool:
    rows = [row for row in facts["pieces"] if row[2] in (NORMAL, UNUSED, USER_DEFINED, CONTROL)]
    if not rows:
        return False
    row = rng.choice(rows)
    row[2] = rng.choice([kind for kind in (NORMAL, UNUSED, USER_DEFINED) if kind != row[2]])
    return True


def _piece(rng: Random, facts: Json, letters: str) -> bool:
    rows = facts["pieces"]
    normal = [row for row in rows if row[2] == NORMAL]
    if normal and rng.random() < 0.5:
        rows.remove(rng.choice(normal))
        return True
    new = "".join(rng.choices(letters.replace(" ", "\u2581"), k=rng.randint(1, 4)))
    if any(row[0] == new for row in rows):
        return False
    least = min(row[1] for row in rows)
    rows.append([new, rng.choice([least - 1, least, 0.0]), NORMAL])
    return True


def _user_defined(rng: Random, facts: Json, letters: str) -> bool:
    """A user-defined piece more, of letters that others may begin or end with."""
    marked = letters.replace(" ", "\u2581")
    new = "".join(rng.choices(marked, k=rng.randint(1, 4)))
    if any(row[0] == new for row in facts["pieces"]):
        return False
    facts["pieces"].append([new, 0.0, USER_DEFINED])
    return True


def _swap_pieces(rng: Random, facts: Json, letters: str) -> bool:
    return swap(rng, facts["pieces"], 1)


def _piece_flag(rng: Random, facts: Json, letters: str) -> bool:
    name = rng.choice(["dummy", "remove_extra", "escape", "suffix", "byte_fallback"])
    facts[name] = not facts[name]
    return True


def _unknown_surface(rng: Random, facts: Json, letters: str) -> bool:
    facts["unknown"] = rng.choice([v for v in (None, "<unk>", "?", " ") if v != facts["unknown"]])
    return True


PIECES: dict[str, Change] = {
    "score": _score,
    "score again": _score,
    "sign of zeros": _same_sign,
    "kind of a piece": _kind,
    "user-defined piece": _user_defined,
    "piece": _piece,
    "pieces swapped": _swap_pieces,
    "flag of a model": _piece_flag,
    "surface of the unknown": _unknown_surface,
}


# GPT-2 pairs.


def _as_document(change: Change) -> Change:
    """A change of a document's model, of a pair."""

    def on_pair(rng: Random, facts: Json, letters: str) -> bool:
        model = facts | {"continuing_subword_prefix": None, "end_of_word_suffix": None}
        return change(rng, {"model": model}, letters)

    return on_pair


PAIR: dict[str, Change] = {
    "ids of a pair swapped": _as_document(_swap_ids),
    "merge of a pair moved": _as_document(_move_merge),
    "merge of a pair dropped": _as_document(_drop_merge),
    "other merge of a token of a pair": _as_document(_respelled_merge),
    "new merge of a pair": _as_document(_new_merge),
}

CHANGES: dict[str, dict[str, Change]] = {
    "huggingface": DOCUMENT,
    "tiktoken": RANKS,
    "sentencepiece": PIECES,
    "gpt2": PAIR,
    **BYTE_CHANGES,
}
