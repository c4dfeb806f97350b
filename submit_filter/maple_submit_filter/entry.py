"""In place of sbatch and qsub where the front has no compiler: `#!/path/to/python3 -IS`, by the name of the command.

It gives back what Python took: environment and signals. What it cannot give back is the time Python takes to start.
"""

from __future__ import annotations

import os
import sys

_SIGNALS = ("SIGPIPE", "SIGXFSZ")  # ignored by Python since its start
_SLACK, _MOST_FRONTS = 40, 5  # nanoseconds; as in front/config.c


def _environment() -> list[bytes]:
    """Return the environment block as it was when this process began: Python may have set LC_CTYPE since."""
    try:
        with open("/proc/self/environ", "rb") as file:
            block = file.read()
        return block.split(b"\0")[:-1]
    except OSError:
        return [name + b"=" + value for name, value in os.environb.items()]


def _conf(here: str) -> dict[str, str]:
    """Return front.conf's keys, {} where it is missing or somebody else could have written it."""
    try:
        with open(here + "/../etc/front.conf", "rb") as file:
            kind = os.fstat(file.fileno())
            if kind.st_mode & 0o022 or kind.st_uid not in (0, os.getuid(), os.stat(here).st_uid):
                return {}
            text = file.read(16384).decode("utf-8", "surrogateescape")
    except OSError:
        return {}
    pairs = (line.partition("=") for line in text.split("\n") if not line.startswith("#"))
    return {key: value for key, equals, value in pairs if equals}


def _fronts_before() -> int:
    """Return how many fronts this command has passed, and count this one: as front/config.c, which says how."""
    try:
        with open("/proc/self/timerslack_ns", "r+") as file:
            slack = int(file.read())
            rest = slack % 1000
            passed = rest - _SLACK if _SLACK < rest <= _SLACK + _MOST_FRONTS else 0
            if slack > 0 and (rest == 0 or passed):
                file.seek(0)
                file.write(str(slack - rest + _SLACK + passed + 1))
            return passed
    except (OSError, ValueError):
        return 0


def _next_in_path(command: str, own: str, path: str, avoid: str = "") -> str:
    """Return the next command of that name in PATH behind this one, and not *avoid*; "" if there is none."""
    found, passed = "", False
    for folder in path.split(":"):
        one = os.path.join(folder, command)
        if not folder or not os.path.isfile(one):
            continue
        if os.path.realpath(one) == own:
            found, passed = ("" if not passed else found), True
        elif not found and os.access(one, os.X_OK) and os.path.realpath(one) != avoid:
            found = one
    return found


def _become(path: str, argv: list[bytes], block: list[bytes]) -> None:
    """Become the real command; returns only if that fails."""
    import signal

    for name in _SIGNALS:
        signal.signal(getattr(signal, name), signal.SIG_DFL)
    pairs = dict(entry.split(b"=", 1) for entry in block if b"=" in entry)
    try:
        if len(pairs) == len(block):
            os.execve(path, argv, pairs)
        _become_with_block(path, argv, block)
    except OSError:
        pass
    for name in _SIGNALS:
        signal.signal(getattr(signal, name), signal.SIG_IGN)


def _become_with_block(path: str, argv: list[bytes], block: list[bytes]) -> None:
    """A block with a name twice, or with entries that are no pairs, goes past Python's dictionary."""
    import ctypes

    words = (ctypes.c_char_p * (len(argv) + 1))(*argv, None)
    entries = (ctypes.c_char_p * (len(block) + 1))(*block, None)
    ctypes.CDLL(None).execve(os.fsencode(path), words, entries)


def main() -> int:
    """Become the real command, with what Maple would change changed; return the exit status if there is none."""
    block = _environment()
    environment = dict(entry.split(b"=", 1) for entry in reversed(block) if b"=" in entry)
    own = os.path.realpath(sys.argv[0])
    command = "qsub" if os.path.basename(sys.argv[0]) == "qsub" else "sbatch"
    argv = [os.fsencode(command), *map(os.fsencode, sys.argv[1:])]
    conf = _conf(os.path.dirname(own))
    passed = _fronts_before()
    new = _changed(argv, environment, conf, own) if conf and not passed else argv
    path = os.fsdecode(environment.get(b"PATH", b"")) or "/usr/local/bin:/usr/bin:/bin"
    first = conf.get("real_" + command, "")
    again = _next_in_path(command, own, path, os.path.realpath(first)) if passed and first else ""
    if passed and b"verbose" in environment.get(b"MAPLE", b"").split(b","):
        os.write(2, b"maple: the real command came back to the front; the next in PATH is taken\n")
    if passed >= _MOST_FRONTS:
        os.write(2, b"maple: %s, taken for the real %s, starts the front again\n" % (first.encode(), command.encode()))
        return 126
    for real in (again, first, _next_in_path(command, own, path)):
        if real and os.path.realpath(real) != own:
            _become(real, new, block)
            _become(real, argv, block)
    os.write(2, b"maple: cannot run the real %s\n" % command.encode())
    return 127


def _changed(argv: list[bytes], environment: dict[bytes, bytes], conf: dict[str, str], own: str) -> list[bytes]:
    """Return the argv to run. Whatever goes wrong, that is the user's own."""
    said = environment.get(b"MAPLE", b"").split(b",")
    if b"off" in said or conf.get("mode") == "off":
        why = b"Maple is switched off at this site" if conf.get("mode") == "off" else b"MAPLE=off"
        if b"verbose" in said:
            os.write(2, b"maple: submitted as written: %s\n" % why)
        return argv
    try:
        helper = conf.get("helper", "")
        release = os.path.dirname(os.path.dirname(own))
        sys.path.insert(0, os.path.dirname(os.path.dirname(helper)) if helper else os.path.join(release, "lib"))
        from maple_submit_filter import stand_in

        return list(stand_in.change(argv, environment, conf))
    except Exception as error:
        if b"verbose" in said:
            os.write(2, ("maple: %s: %s\n" % (type(error).__name__, error)).encode("utf-8", "replace"))
        return argv


if __name__ == "__main__":
    sys.exit(main())
