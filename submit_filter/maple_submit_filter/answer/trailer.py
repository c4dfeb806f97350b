"""The comment that a submitted copy ends with: whoever finds it knows where the changes come from."""

from __future__ import annotations

from typing import Iterable, List, Optional, Tuple

_BLANK = b" \t"


def close(
    source: bytes, codes: Iterable[str], record: str, original: str, command: str = "sbatch", prefix: bytes = b""
) -> bytes:
    """Return *source* with the comment as its last line, or *source* itself where another line there could be data.

    *command* is the one that submits it; *prefix*, if any, is what its directives begin with: a comment that begins so
    would be one (`qsub -C '#'`).
    """
    return closed(source, codes, record, original, command, prefix) if may_close(source) else source


def closed(source: bytes, codes: Iterable[str], record: str, original: str, command: str, prefix: bytes) -> bytes:
    """Return the same for a *source* that is known to be one that `may_close`."""
    text = "# maple: repaired (%s); record %s; original sha256 %s; MAPLE=off %s ... submits as written\n"
    comment = (text % (" ".join(codes), record, original, command)).encode()
    if prefix and comment.startswith(prefix):
        return source
    return source + (b"" if source.endswith(b"\n") else b"\n") + comment


def beside(command: bytes) -> bytes:
    """Return a closed `--wrap` command whose comment stands on the one line that the command has.

    Slurm keeps the words of sbatch in SubmitLine as they are: sacct -P (22.05) and scontrol -o (25.11) would print two
    lines for one job.
    """
    line, _, rest = command.partition(b"\n")
    return line + b" " + rest if rest.startswith(b"# maple: repaired (") and b"\n" not in rest else command


def may_close(source: bytes) -> bool:
    """Return whether a comment may follow the last line: no payload, no open here-document, no unfinished line."""
    if b"\0" in source or source.rstrip(b"\n").endswith(b"\\"):
        return False
    lines = source.split(b"\n")
    return not _has_payload(lines) and not _reads_itself(lines) and not _open_here_document(lines)


def _has_payload(lines: List[bytes]) -> bool:
    """Whether something other than comments follows a command at the left margin behind which bash reads no further."""
    ended = False
    for line in lines:
        if ended and line.strip() and not line.lstrip(_BLANK).startswith(b"#"):
            return True
        first = line.split(None, 1)[:1] if line[:1] not in (b" ", b"\t") else []
        ended = ended or first in ([b"exit"], [b"exit;"], [b"exec"])
    return False


def _reads_itself(lines: List[bytes]) -> bool:
    """Whether a line reads the script as data (`tail -n +9 "$0"`)."""
    readers = (b"tail", b"sed", b"awk", b"head", b"cat", b"grep", b"perl", b"python")
    own = (b"$0", b"${0}", b"BASH_SOURCE", b"slurm_script", b"batch_script", b"mom_priv")
    return any(any(name in line for name in own) and any(reader in line for reader in readers) for line in lines)


def _open_here_document(lines: List[bytes]) -> bool:
    """Whether a here-document may still be open at the end; a `<<` that only looks like one counts as open as well."""
    waiting: List[Tuple[bytes, bool]] = []
    for line in lines:
        if waiting:
            word, tabs = waiting[0]
            if (line.lstrip(b"\t") if tabs else line) == word:
                waiting.pop(0)
            continue
        if not line.lstrip(_BLANK).startswith(b"#"):
            waiting += _delimiters(line)
    return bool(waiting)


def _delimiters(line: bytes) -> List[Tuple[bytes, bool]]:
    delimiters = []
    at = line.find(b"<<")
    while at >= 0:
        if line[at : at + 3] == b"<<<":
            at = line.find(b"<<", at + 3)
            continue
        tabs = line[at + 2 : at + 3] == b"-"
        word = _word(line[at + 2 + tabs :])
        if word is not None:
            delimiters.append((word, tabs))
        at = line.find(b"<<", at + 2)
    return delimiters


def _word(rest: bytes) -> Optional[bytes]:
    """Return the delimiter with its quotes removed, None if `<<` is a shift in arithmetic."""
    rest = rest.lstrip(_BLANK)
    end = rest.find(rest[:1], 1) if rest[:1] in (b"'", b'"') else -1
    if end > 0 and rest[end + 1 : end + 2] in (b"", b" ", b"\t", b";", b"&", b"|", b")", b">"):
        return rest[1:end]
    words = rest.split(None, 1)
    if not words or words[0][:1].isdigit():
        return None
    for index, byte in enumerate(words[0]):
        if byte in b";&|)>":
            return words[0][:index].replace(b'"', b"").replace(b"'", b"").replace(b"\\", b"")
    return words[0].replace(b'"', b"").replace(b"'", b"").replace(b"\\", b"")
