"""Which folder a script is meant to be submitted from: the one in which its files lie."""

from __future__ import annotations

import os
from typing import List, Optional

from maple_submit_filter.host.bounded_file import read_file


class Looked:
    """Reads files, and remembers which were looked for below a folder and were there, or were not."""

    def __init__(self, folder: bytes) -> None:
        self.folder = folder.rstrip(b"/") + b"/"
        self.found = False
        self.missing: List[bytes] = []

    def read(self, path: bytes) -> Optional[bytes]:
        """Return what stands in a file, None where it may not or cannot be read."""
        content = read_file(path)
        if path.startswith(self.folder):
            self.found = self.found or content is not None
            if content is None:
                self.missing.append(os.path.normpath(path)[len(self.folder) :])
        return content

    def would_find(self, other: bytes) -> bool:
        """Return whether nothing of what was looked for lies in the folder, and some of it in the *other* one."""
        if self.found or other.rstrip(b"/") + b"/" == self.folder:
            return False
        return any(os.path.isfile(os.path.join(other, name)) for name in self.missing)
