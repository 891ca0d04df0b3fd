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
    ),
    rounds=3,
    quick=1,
    corpus="english",
    environ=THREADS,
    compared="the first merges",
    note="GPT-2's pattern. tokenizers, gigatoken and gigabpe choose other merges where pairs are "
    "equally frequent, and use all cores. With `--quick`, 2,000 tokens of 1 MB.",
    why="Without the kernel, Python goes over each place where a pair is merged.",
)

WORKS = (_TRAIN,)
