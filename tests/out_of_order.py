"""An executor that completes what it is given in another order."""

from __future__ import annotations

import random
import threading
from collections.abc import Callable
from concurrent.futures import Executor, Future
from typing import Any


class Shuffled(Executor):
    """Runs what it is given in this process, and completes it in another order."""

    def __init__(self, seed: int) -> None:
        self._random, self._held = random.Random(seed), list[Callable[[], None]]()
        self._lock = threading.Lock()
        self._timer = threading.Thread(target=self._work, daemon=True)
        self._ended = threading.Event()
        self._timer.start()

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        future: Future[Any] = Future()

        def run() -> None:
            if not future.set_running_or_notify_cancel():
                return
            try:
                future.set_result(fn(*args, **kwargs))
            except Exception as error:
                future.set_exception(error)

        with self._lock:
            self._held.append(run)
        return future

    def _work(self) -> None:
        while not self._ended.wait(0.005):
            with self._lock:
                held, self._held = self._held, []
            self._random.shuffle(held)
            for run in held:
                run()

    def shutdown(self, wait: bool = True, *, cancel_futures: bool = False) -> None:
        self._ended.set()
        self._timer.join()
