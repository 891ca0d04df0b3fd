"""A job that does another's work, and at one part harms the process that it is in."""

from __future__ import annotations

import os
import resource
import signal
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from bpe_interop.corpora import Part
from bpe_interop.formats import Files
from bpe_interop.workers import Job, Ticket, Work
from bpe_interop.workers.orders import Check


@dataclass(frozen=True)
class Harmful:
    """``parts`` are their numbers, and how often each does harm; ``marks`` is a folder in which
    that is counted.
    """

    inner: Job[Any, Any]
    harm: Literal["kill", "wait", "stop", "full", "count"]
    parts: tuple[tuple[int, int], ...]
    marks: str

    @property
    def tokenizers(self) -> tuple[Ticket, ...]:
        return self.inner.tokenizers

    @property
    def libraries(self) -> tuple[str, ...]:
        return self.inner.libraries

    def build(self, files: Sequence[Files], isolate: bool) -> HarmfulWork:
        return HarmfulWork(self, self.inner.build(files, isolate))


class HarmfulWork:
    def __init__(self, job: Harmful, inner: Work[Any, Any]) -> None:
        self._job, self._inner = job, inner

    def do(self, part: Part, check: Check) -> Any:
        job, marks = self._job, Path(self._job.marks)
        done = len([*marks.glob(f"*-{part.number}-*")])
        if done < dict(job.parts).get(part.number, 0):
            (marks / f"{os.getpid()}-{part.number}-{time.monotonic_ns()}").touch()
            if job.harm == "kill":
                os.kill(os.getpid(), signal.SIGKILL)
            if job.harm == "stop":
                os.kill(os.getpid(), signal.SIGSTOP)
            while job.harm == "wait":
                check()
                time.sleep(0.02)
            if job.harm == "full":
                return self._on_a_full_disk(part, check)
        return self._inner.do(part, check)

    def _on_a_full_disk(self, part: Part, check: Check) -> Any:
        before = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1_024, before[1]))
        try:
            return self._inner.do(part, check)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, before)

    def close(self) -> None:
        self._inner.close()
