"""Secrets stay in the process that drew them: a fork would draw the same noise again."""

from __future__ import annotations

import os

from lazydp._native import PrivacyError

_forks = 0  # the number of forks between the first process and this one


def _forked() -> None:
    global _forks
    _forks += 1


os.register_at_fork(after_in_child=_forked)


class HomeProcess:
    """The process that owns a secret.

    A fork of it would draw the same noise for other gradients, and noise that is drawn twice
    cancels out.
    """

    def __init__(self) -> None:
        """Take this process as the owner."""
        self._forks = _forks

    def require(self, what: str) -> None:
        """Raise PrivacyError in a process that was forked since."""
        if _forks != self._forks:
            raise PrivacyError(
                f"{what} in a process that was forked; it shares the secret of its parent, and "
                "both would draw the same noise: train, and read private tables, in the process "
                "that called make_private (workers of a DataLoader may go on)"
            )
