"""What an administrator's command refuses, or the system denies, is one line that says what to do."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from typing import Any, TypeVar

from maple_agents.base.complaint import Complaint

from ..install.refusals import Refused

Command = TypeVar("Command", bound=Callable[..., Any])


def plainly(command: Command) -> Command:
    """Turn a refusal, and what the system denies, into one line that says what to do."""

    @functools.wraps(command)
    def run(*words: Any, **options: Any) -> Any:
        try:
            return command(*words, **options)
        except Refused as refused:
            raise Complaint(refused.says, refused.help) from None
        except BrokenPipeError:  # whoever reads has read enough
            os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
            raise SystemExit(1) from None
        except OSError as error:
            what = error.strerror or str(error)
            raise Complaint(f"{error.filename or 'the system'}: {what}", "nothing was changed") from None

    return run  # type: ignore[return-value]
