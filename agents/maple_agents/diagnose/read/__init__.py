"""Logs read into a digest: streamed, in bounded memory, whatever the files hold."""

from .clean_lines import cleaned
from .digest import read
from .limits import Limits
from .units.prefixes import bare
from .units.tracebacks import announces

__all__ = ["Limits", "announces", "bare", "cleaned", "read"]
