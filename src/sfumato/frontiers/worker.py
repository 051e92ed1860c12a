"""One worker process: `python -m sfumato.frontiers.worker PARENT`. Reads a task, then mechanisms, and answers each.

It is started as a fresh interpreter, never forked, and speaks over its own standard streams, so that a caller's
script needs no `if __name__ == "__main__"` and a notebook works like a file. It ends when the process that started it
is gone, however that ended.
"""

from __future__ import annotations

import os
import pickle
import signal
import sys
import time
from threading import Thread
from typing import BinaryIO

_LOOK = 0.25  # seconds


def main() -> None:
    """Answer until the other side closes."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # a terminal's Ctrl-C is for the process that started this one
    answers = _private_output()
    Thread(target=_end_with, args=(int(sys.argv[1]),), daemon=True).start()
    from sfumato.frontiers.evaluate import evaluated

    task = pickle.load(sys.stdin.buffer)  # noqa: S301  (from the process that started this one)
    while True:
        try:
            mechanism = pickle.load(sys.stdin.buffer)  # noqa: S301
        except EOFError:
            return
        try:
            pickle.dump(evaluated(task, mechanism), answers, protocol=5)
            answers.flush()
        except BrokenPipeError:
            os._exit(0)  # nobody waits for the answer


def _end_with(parent: int) -> None:
    """End this process once the one that started it is gone."""
    while os.getppid() == parent:
        time.sleep(_LOOK)
    os._exit(0)


def _private_output() -> BinaryIO:
    """Keep the answering pipe to ourselves: whatever a library prints goes to standard error."""
    kept = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return kept


if __name__ == "__main__":
    main()
