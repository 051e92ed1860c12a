"""One worker process: `python -m sfumato.frontier.worker`. Reads a task, then mechanisms, and answers each.

It is started as a fresh interpreter, never forked, and speaks over its own standard streams, so that a caller's
script needs no `if __name__ == "__main__"` and a notebook works like a file.
"""

from __future__ import annotations

import os
import pickle
import sys
from typing import BinaryIO

__all__ = ["main"]


def main() -> None:
    """Answer until the other side closes."""
    answers = _private_output()
    from sfumato.frontier.evaluate import evaluated

    task = pickle.load(sys.stdin.buffer)  # noqa: S301  (from the process that started this one)
    while True:
        try:
            mechanism = pickle.load(sys.stdin.buffer)  # noqa: S301
        except EOFError:
            return
        pickle.dump(evaluated(task, mechanism), answers, protocol=5)
        answers.flush()


def _private_output() -> BinaryIO:
    """Keep the answering pipe to ourselves: whatever a library prints goes to standard error."""
    kept = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    return kept


if __name__ == "__main__":
    main()
