"""Damaged files for every reader: it gives a model, or an error of ours, soon and in little room.

Each input is one of the repository's small tokenizers, or of the files beside them, or a random
tokenizer of :mod:`.verdicts`, with one change or a few. JSON is changed in its tree (values, keys,
order, depth), rank files, merges and records in their lines, a ``.model`` in its fields, and every
file in its bytes. The reader of its format then reads it; where it does, it is written and read
again with the same ids, and our encoder encodes a text. Of every few inputs, the command
``convert`` runs on a folder with the files as well, and must leave nothing where it fails.
"""

from __future__ import annotations

import copy
import json
import math
import multiprocessing
import random
import resource
import signal
import struct
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any

import click

from bpe_interop.convert import convert
from bpe_interop.encode import Encoder
from bpe_interop.errors import BpeInteropError, UnstatedError
from bpe_interop.formats import Files, Format, by_name
from bpe_interop.presets import fill
from fixtures import TOKENIZERS
from fixtures.piece_model import read, write

from .other_files import beside
from .page import made_of, put, table, write_option
from .verdicts.byte_formats import RANDOM
from .verdicts.documents import random_document
from .verdicts.ranked import random_gpt2, random_pieces, random_ranks
from .verdicts.sources import Source

_COMPANIONS = {
    "added_tokens.json": b'{"<extra>": 900}',
    "config.json": b'{"model_type": "gpt2", "vocab_size": 1000, "bos_token_id": 0}',
    "generation_config.json": b'{"eos_token_id": [0, 1], "pad_token_id": 0}',
    "chat_template.jinja": b"{% for m in messages %}{{ m.content }}{% endfor %}",
}
"""Files that lie beside a ``tokenizer.json``, which the fixtures have not."""
SECONDS = 5.0
"""Of CPU for one input."""
GROWTH = 1 << 20
"""KiB that the process may grow in all."""
_CONVERTED = 50
"""Of so many inputs, one goes through ``convert`` too."""
_GENERATORS: dict[str, Callable[[random.Random], Source]] = {
    "gpt2": random_gpt2,
    "huggingface": random_document,
    "sentencepiece": random_pieces,
    "tiktoken": random_ranks,
}
_TEXT = "Hello 12, \u00e9\u4e2d\U0001f600 <|endoftext|>  x\n"
_WEIRD: tuple[Any, ...] = (
    None, True, False, 0, -1, 1.5, 1e308, 2**31, 2**32, 2**63, 10**40, "", "a", "\x00", "\ufffd",
    "\u0130", " ", "x" * 1000, [], {}, [[]], {"": None}, "BPE", "Sequence", "Split", "ByteLevel",
    "(?:", "a{1000}{1000}", "[^\\s]+|(?<!a)", "\\p{L}++", "<0x41>", "\u0120", "##",
)  # fmt: skip
_BYTES = (b"\x00", b"\xff", b"\n", b"\r\n", b" ", b"==", b"\x80\x80\x80\x80\x80\x01", b"{", b'"')


@dataclass(slots=True)
class Found:
    """What became of the inputs of one format."""

    inputs: int = 0
    read: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    converted: int = 0
    slowest: float = 0.0
    faults: list[str] = field(default_factory=list)


class _TooLongError(BaseException):
    """An input took more than its seconds; no reader may take it for an error of its own."""


def seeds() -> dict[str, list[dict[str, bytes]]]:
    """The small tokenizers, by format."""
    found: dict[str, list[dict[str, bytes]]] = {}
    for folder in sorted(TOKENIZERS.glob("*/*/")):
        files = {
            path.name: path.read_bytes() for path in sorted(folder.iterdir()) if path.is_file()
        }
        found.setdefault(folder.name, []).append(files)
    found["huggingface"].append(found["huggingface"][0] | _COMPANIONS)
    return found


def generated(name: str, rng: random.Random) -> dict[str, bytes]:
    """A random tokenizer of a format, of a few tokens."""
    if name in RANDOM:
        return Source(*RANDOM[name](rng)).files()
    return _GENERATORS[name](rng).files()


def damaged(files: Files, rng: random.Random) -> dict[str, bytes]:
    """Files with a few changes."""
    changed = dict(files)
    for _ in range(rng.choice((1, 1, 1, 1, 2, 4))):
        name = rng.choice(sorted(changed))
        data = changed[name]
        ways: list[Callable[[bytes, random.Random], bytes]] = [_in_bytes]
        if name.endswith(".json"):
            ways += [_in_tree] * 6
        elif name.endswith(".jsonl"):
            ways += [_in_record] * 6
        elif data.startswith(b"GGUF"):
            ways += [_in_head] * 6
        elif name.endswith(".model"):
            ways += [_in_message] * 9
        elif data.isascii() or name.endswith((".txt", ".bpe", ".tiktoken")):
            ways += [_in_lines] * 4
        changed[name] = rng.choice(ways)(data, rng)
    return changed


def _in_bytes(data: bytes, rng: random.Random) -> bytes:
    at = rng.randrange(len(data) + 1)
    end = min(len(data), at + rng.choice((0, 1, 1, 2, 8, 64)))
    other = rng.randrange(len(data) + 1)
    put_in = rng.choice((
        b"", rng.choice(_BYTES), rng.randbytes(rng.choice((1, 2, 8))), data[other : other + 16],
    ))  # fmt: skip
    return data[:at] if rng.random() < 0.03 else data[:at] + put_in + data[end:]


def _in_head(data: bytes, rng: random.Random) -> bytes:
    """A GGUF file with another count, length or type: a small number, little-endian."""
    for _ in range(200):
        at = rng.choice((8, 16, rng.randrange(4, max(5, len(data) - 8))))
        size = rng.choice((4, 8))
        value = int.from_bytes(data[at : at + size], "little")
        if value <= 512:
            other = rng.choice((0, 1, 8, 9, 13, value - 1, value + 1, 2**31, 2**32 - 1, 2**63))
            return (
                data[:at] + (other % (1 << 8 * size)).to_bytes(size, "little") + data[at + size :]
            )
    return _in_bytes(data, rng)


def _in_message(data: bytes, rng: random.Random) -> bytes:
    """A SentencePiece model with a field changed, moved or left out, at any depth."""
    try:
        fields = read(data)
    except (ValueError, IndexError, struct.error):  # no message, or one that was changed before
        return _in_bytes(data, rng)
    if not fields:
        return _in_bytes(data, rng)
    at, other = rng.randrange(len(fields)), rng.randrange(len(fields))
    number, value = fields[at]
    way = rng.randrange(8)
    if way == 0:
        del fields[at]
    elif way == 1:
        fields.insert(other, fields[at])
    elif way == 2:
        fields[at], fields[other] = fields[other], fields[at]
    elif way == 3:
        fields[at] = (rng.choice((1, number + 1, 35, 1000)), value)
    elif isinstance(value, bytes):
        fields[at] = (number, _in_message(value, rng))
    elif isinstance(value, float):
        fields[at] = (number, rng.choice((0.0, -0.0, -1e-45, math.nan, math.inf, value + 1)))
    else:
        fields[at] = (number, rng.choice((0, 1, 2, 3, 4, 5, 6, 7, value ^ 1, 2**31, 2**64 - 1)))
    return write(fields)


def _in_lines(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    way = rng.randrange(5)
    if way == 0:
        lines[at], lines[other] = lines[other], lines[at]
    elif way == 1:
        lines.insert(at, lines[other])
    elif way == 2:
        del lines[at]
    else:
        parts = lines[at].split(b" ")
        number = str(rng.choice((-1, 0, 7, 2**31, 2**32, 10**30))).encode()
        parts[rng.randrange(len(parts))] = rng.choice((b"", b"=", b"QQ==", b"\xff", number))
        lines[at] = b" ".join(parts)
    return b"\n".join(lines)


def _in_record(data: bytes, rng: random.Random) -> bytes:
    lines = data.split(b"\n")
    at = rng.randrange(len(lines))
    lines[at] = _in_tree(lines[at], rng)
    return b"\n".join(lines)


def _in_tree(data: bytes, rng: random.Random) -> bytes:
    try:
        return _changed(json.loads(data), data, rng)
    except (ValueError, RecursionError):  # changed before, and no JSON that Python can write
        return _in_bytes(data, rng)


def _changed(whole: Any, data: bytes, rng: random.Random) -> bytes:
    places = list(_places(whole, rng))
    if not places:
        return _in_bytes(data, rng)
    holder, key = rng.choice(places)
    way = rng.randrange(6)
    if way == 0:
        del holder[key]
    elif way == 1:
        value = holder[key]
        for _ in range(rng.choice((1, 2, 120, 2000))):
            value = (
                [value] if rng.random() < 0.5 else {"type": "Sequence", "pretokenizers": [value]}
            )
        return _spelled(whole, holder, key, value)
    elif way == 2:
        other, name = rng.choice(places)
        holder[key] = copy.deepcopy(other[name])
    elif way == 3 and isinstance(holder, dict):
        holder[rng.choice((f"{key}x", "", "type", "\x1b[31m"))] = holder[key]
    elif way == 4 and isinstance(holder[key], int):
        holder[key] += rng.choice((-1, 1, 256))
    else:
        holder[key] = copy.deepcopy(rng.choice(_WEIRD))
    return json.dumps(whole, ensure_ascii=False).encode("utf-8", "surrogatepass")


def _spelled(whole: Any, holder: Any, key: Any, value: Any) -> bytes:
    """A document with a value that is too deep for Python's own writer at its place."""
    holder[key] = "@@@"
    opened, inner = "", value
    closed = ""
    while isinstance(inner, (list, dict)) and len(inner) in (1, 2):
        if isinstance(inner, list):
            opened, closed, inner = opened + "[", "]" + closed, inner[0]
        elif "pretokenizers" in inner:
            opened, closed = opened + '{"type":"Sequence","pretokenizers":', "}" + closed
            inner = inner["pretokenizers"]
        else:
            break
    try:
        middle = json.dumps(inner)
    except RecursionError:
        middle = "0"
    return json.dumps(whole).replace('"@@@"', opened + middle + closed, 1).encode()


def _places(value: Any, rng: random.Random, depth: int = 0) -> Iterator[tuple[Any, Any]]:
    """Members of objects and arrays; of large ones, a few."""
    if depth > 20 or not isinstance(value, (dict, list)):
        return
    keys = list(value) if isinstance(value, dict) else list(range(len(value)))
    for key in keys if len(keys) < 30 else rng.sample(keys, 4):
        yield value, key
        yield from _places(value[key], rng, depth + 1)


def try_readers(
    count: int, seed: int, seconds: float = math.inf, numbers: slice = slice(None)
) -> dict[str, Found]:
    """Reads so many damaged inputs, of all formats in turn, for so many seconds at most.

    Args:
        numbers: which of them; all, unless other processes read the others.
    """
    tokenizers = seeds()
    others = beside()
    own: dict[str, Sequence[Files]] = {**tokenizers}
    own |= {name: kind.seeds for name, kind in others.items()}
    found = {name: Found() for name in sorted(own)}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    handler = signal.signal(signal.SIGPROF, _stop)
    end = time.monotonic() + seconds
    try:
        for number in range(count)[numbers]:
            if time.monotonic() > end:
                break
            name = sorted(own)[number % len(own)]
            rng = random.Random(f"{seed}:{number}")
            whole = name in others or rng.random() < 0.5
            files = damaged(rng.choice(own[name]) if whole else generated(name, rng), rng)
            _try(
                found[name],
                others[name].read if name in others else _reader(by_name(name)),
                files,
                number,
                with_convert=name in tokenizers and number // len(own) % _CONVERTED == 0,
            )
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, handler)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    if grown > GROWTH:
        found[sorted(own)[0]].faults.append(f"grew by {grown:,} KiB")
    return found


def _in_processes(count: int, seed: int, seconds: float, processes: int) -> dict[str, Found]:
    """Each process reads every so-many-th input."""
    shares = [(count, seed, seconds, slice(place, None, processes)) for place in range(processes)]
    with multiprocessing.get_context("spawn").Pool(processes) as pool:
        first, *others = pool.starmap(try_readers, shares, chunksize=1)
    for name, found in first.items():
        for other in (each[name] for each in others):
            found.inputs += other.inputs
            found.read += other.read
            found.refused += other.refused
            found.converted += other.converted
            found.slowest = max(found.slowest, other.slowest)
            found.faults += other.faults
    return first


def _stop(number: int, frame: FrameType | None) -> None:
    raise _TooLongError


def _reader(row: Format) -> Callable[[Files], None]:
    """Reads files of a format, writes and reads them again, and encodes a text."""

    def read(files: Files) -> None:
        model = row.load(files)
        again = row.load(row.dump(model))
        if again.vocab.ids != model.vocab.ids:
            raise AssertionError("it was written with other ids")
        Encoder(fill(model, None)).encode(_TEXT)

    return read


def _try(
    found: Found,
    read: Callable[[Files], None],
    files: Files,
    number: int,
    *,
    with_convert: bool,
) -> None:
    found.inputs += 1
    start = time.process_time()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)
    try:
        read(files)
        found.read += 1
    except UnstatedError:
        found.read += 1  # a pattern or special tokens that the files do not state
    except BpeInteropError as error:
        found.refused[type(error).__name__] += 1
    except _TooLongError:
        found.faults.append(f"{number}: took more than {SECONDS:.0f} s")
    except Exception as error:
        found.faults.append(f"{number}: {type(error).__name__}: {str(error)[:200]}")
    signal.setitimer(signal.ITIMER_PROF, 0)
    found.slowest = max(found.slowest, time.process_time() - start)
    if with_convert:
        found.converted += 1
        found.faults += [f"{number}: {fault}" for fault in _converted(files)]


def _converted(files: Files) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as root:
        source = Path(root, "in")
        source.mkdir()
        for name, data in files.items():
            (source / name).write_bytes(data)
        signal.setitimer(signal.ITIMER_PROF, 2 * SECONDS)
        try:
            convert(source, Path(root, "out"), "hf", verify=False)
        except BpeInteropError:
            left = sorted(path.name for path in Path(root).iterdir())
            if left != ["in"]:
                yield f"left {left} after an error"
        except _TooLongError:
            yield "convert took too long"
        except Exception as error:
            yield f"convert: {type(error).__name__}: {str(error)[:200]}"
        signal.setitimer(signal.ITIMER_PROF, 0)


@click.command("readers")
@click.option("--inputs", default=1_000_000, show_default=True, help="How many inputs to read.")
@click.option("--minutes", default=math.inf, help="Stop after so many, if not done before.")
@click.option("--seed", default=0, show_default=True, help="Makes other inputs.")
@click.option("--processes", default=1, show_default=True, help="Which share the inputs.")
@write_option
def readers(inputs: int, minutes: float, seed: int, processes: int, page: Path | None) -> None:
    """Give damaged files to every reader, and look for anything but a model or our own error."""
    start = time.monotonic()
    found = _in_processes(inputs, seed, 60 * minutes, processes)
    seconds = time.monotonic() - start
    tried = sum(each.inputs for each in found.values())
    head = ("format", "inputs", "read", "refused", "converted too", "slowest, ms", "faults")
    rows = [
        [name, each.inputs, each.read, each.refused.total(), each.converted,
         round(each.slowest * 1000), len(each.faults)]
        for name, each in found.items()
    ]  # fmt: skip
    faults = [f"- {name}: {fault}" for name, each in found.items() for fault in each.faults[:20]]
    settings = {"inputs": inputs, "seed": seed} | (
        {} if minutes == math.inf else {"minutes": f"{minutes:g}"}
    )
    number = sum(len(each.faults) for each in found.values())
    said = f"{tried:,} inputs, {tried / seconds:,.0f} a second; **{number:,} faults**."
    put(page, "readers", [*made_of("readers", seconds, settings), "", said, "",
                          *table(head, rows), *faults])  # fmt: skip
    if faults:
        raise SystemExit(1)
