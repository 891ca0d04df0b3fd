"""Works: training."""

from __future__ import annotations

from .works import OURS, THREADS, Limit, Side, Work

LOOP = "the tutorials' own loop"
_GIVEN = {"corpus": "{made}/english.txt", "size": "32000"}
_QUICK = {"size": "2000"}

_TRAIN = Work(
    name="train",
    group="train",
    title="train 10 MB English to 32,000 tokens, the tutorials' exact merges",
    sides=(
        Side(OURS, "training.ours", (), _GIVEN, _QUICK),
        Side(LOOP, "training.loop", (), _GIVEN, _QUICK, once=True),
        Side("tokenizers", "training.tokenizers", ("tokenizers",), _GIVEN, _QUICK),
        Side("gigatoken", "training.gigatoken", ("gigatoken",), _GIVEN, _QUICK),
        Side("gigabpe", "training.gigabpe", ("gigabpe",), _GIVEN, _QUICK),
    ),
    limits=(
        Limit("at least 200x their own loop (extrapolated)", 200.0, form="speed", peer=LOOP),
        Limit("at most 0.2x `tokenizers`' trainer", 0.2, peer="tokenizers"),
        Limit("at least 1x", 1.0, form="speed", peer="gigabpe"),
    ),
    rounds=3,
    quick=1,
    corpus="english",
    environ=THREADS,
    compared="the first merges",
    note="GPT-2's pattern. tokenizers, gigatoken and gigabpe choose other merges where pairs are "
    "equally frequent, and use all cores. With `--quick`, 2,000 tokens of 1 MB.",
    why="One thread does it: of 0.43 s of CPU, 0.24 are merging and 0.09 counting pretokens, in "
    "the kernel; the rest makes Python's objects of tokens and merges.",
)

_FILE = {"corpus": "{made}/large-1-gb/text", "size": "32000"}

_TRAIN_FILE = Work(
    name="train-1gb",
    group="train",
    title="train 1 GB English in a file to 32,000 tokens",
    sides=(
        Side(OURS, "training.ours_of_file", (), _FILE, _QUICK, once=True),
        Side("gigabpe", "training.gigabpe", ("gigabpe",), _FILE, _QUICK, once=True),
    ),
    limits=(Limit("at least 1x", 1.0, form="speed", peer="gigabpe"),),
    environ=THREADS,
    note="GPT-2's pattern. The English corpus again and again, with other numbers in each "
    "document. Both use all cores. Each once. With `--quick`, 10 MB.",
    why="Of about 5 s of CPU, counting pretokens is 3.6, in threads; reading the file is 0.5, "
    "adding the counts 0.4 and merging 0.2, in one.",
)

_TRAIN_LONG = Work(
    name="train-10gb",
    group="train",
    title="train 10 GB English in a file to 32,000 tokens",
    sides=(
        Side(
            OURS,
            "training.ours_of_file",
            (),
            {**_FILE, "corpus": "{made}/large-10-gb/text"},
            _QUICK,
            once=True,
        ),
    ),
    limits=(Limit("peak memory at most 2 GB", 2e9, form="absolute", measure="peak"),),
    environ=THREADS,
    note="As above. Once. With `--quick`, 10 MB.",
    why="Distinct pretokens are in memory.",
    long=True,
)

WORKS = (_TRAIN, _TRAIN_FILE, _TRAIN_LONG)
