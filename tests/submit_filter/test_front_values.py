"""What the front decides by values alone, over whole small domains, against a second reading that is written here."""

from __future__ import annotations

import hashlib
import itertools
import os
import re
import stat

from tests.submit_filter.front_parts import Row, words_of, wrong

PREFIXES, NAMES, SECRETS = (
    tuple(sorted(words_of(name))) for name in ("WATCHED_PREFIXES", "WATCHED_NAMES", "SECRET_WORDS")
)
STICKY, WRITTEN = stat.S_ISVTX, (0o700, 0o720, 0o702, 0o770, 0o777)
OFF = re.compile(rb"^[ \t]*#[ \t]*maple:[ \t]*off[ \t\r]*(?:\n|\Z)", re.MULTILINE)
OBJECT = re.compile(rb"(?=.{2,4000}\Z)\{[^\0-\x1f]*\}", re.DOTALL)
DESCRIPTOR = re.compile(rb"(?:/dev/fd/|/proc/self/fd/)([0-9]{1,6})")


def test_each_variable_travels_or_stays() -> None:
    """All that are watched, all that are secret, and names of every length, in scripts that name them and others."""
    names = [*NAMES, *(prefix + end for prefix in PREFIXES for end in (b"", b"X", b"X_KEY", b"my_token"))]
    names += [name + b"X" for name in NAMES] + [name[:-1] for name in (*NAMES, *PREFIXES)]
    names += [b"X" + name for name in NAMES] + [b"MY_" + word + b"S" for word in SECRETS]
    names += [b"my_" + word.lower() for word in SECRETS]
    names += [b"", b"Q", b"QQ", *(b"Z" * size for size in (1, 2, 3, 4, 5, 126, 127, 128))]
    rows: list[Row] = [(b"QQQQ=1", b"QQQQ".rjust(size)) for size in (262143, 262144, 262145)]
    for name, value in itertools.product(names, (b"=1", b"", b"=the KEY", b"=a=b")):
        rows += [(name + value, script) for script in (b"", b"srun x", b"srun $" + name, b"srun $Z" + name[1:])]
    assert wrong("goes", {row: int(_travels(*row)) for row in rows}) == []


def _travels(variable: bytes, script: bytes) -> bool:
    name = variable.partition(b"=")[0]
    secret = any(word in name.upper() for word in SECRETS)
    named = 1 < len(name) <= 127 and 0 < len(script) <= 262144 and name in script
    return name in NAMES or (not secret and (named or variable.startswith(PREFIXES)))


def test_what_is_looked_through_has_a_bound() -> None:
    """Sixty-four mebibytes; a variable that would be looked for beyond them makes the whole request none."""
    script = b"AAAA".rjust(262144)
    rows: list[Row] = [(b"AAAA=%d" % number, script) for number in range(257)]
    assert wrong("goes", {row: -1 if row == rows[-1] else 1 for row in rows}) == []


def test_each_line_of_a_configuration_sets_what_it_names() -> None:
    """Paths from the root on, numbers whole and within bounds, the modes that the front knows; all else leaves it."""
    paths = ("real_sbatch", "python", "helper", "child", "child_python", "socket", "audit")
    numbers = {"service_uid": (0, 4294967293, 7), "socket_ms": (1, 60000, 50), "files_ms": (1, 60000, 500)}
    numbers["helper_ms"] = (1, 60000, 250)
    around = itertools.product((b"", b" ", b"+", b"-", b"0", b"x", b"/"), (b"", b" ", b"x", b".5", b"\t"))
    bounds = sorted(
        {number + more for least, most, _ in numbers.values() for number in (least, most) for more in (0, 1)}
    )
    values = [begin + b"7" + end for begin, end in around] + [b"%d" % number for number in bounds]
    values += [
        b"",
        b"-1",
        b"0x10",
        b"%d" % 10**30,
        b"off",
        b"observe",
        b"repair",
        b"/" + b"p" * 4094,
        b"/" + b"p" * 4095,
    ]
    expected: dict[Row, object] = {}
    for key, value in itertools.product((*paths, *numbers, "mode", "real_qsub", "pytho", "mode "), values):
        row = {path: value.decode() if key == path and _is_path(value) else "" for path in paths}
        mode = {b"off": 2, b"observe": 1}.get(value, 0) if key == "mode" else 0
        taken = {
            name: int(value) if key == name and _is_within(value, *of[:2]) else of[2] for name, of in numbers.items()
        }
        expected[key.encode(), value] = " ".join(
            [*row.values(), "%d" % mode, *("%d" % number for number in taken.values())]
        )
    assert wrong("set", expected) == []


def _is_path(value: bytes) -> bool:
    return value.startswith(b"/") and len(value) < 4096


def _is_within(value: bytes, least: int, most: int) -> bool:
    return re.fullmatch(rb"[0-9]+", value) is not None and least <= int(value) <= most


def test_what_is_said_drives_no_terminal_whatever_its_bytes() -> None:
    """Controls and those that UTF-8 writes as two bytes are shown as "?", and no more than 64 KiB."""
    texts = [
        bytes(pair) for pair in itertools.product(b"\x00\x1b\x1f a~\x7f\x80\x9f\xa0\xc1\xc2\xc3\xe9\t", range(11, 256))
    ]
    texts += [b"a" * size for size in (4095, 4096, 4097, 65535, 65536, 65537)] + [b"a" * 4095 + b"\xc2\x9b"]
    shown = [re.sub(rb"[\0-\x08\x0b-\x1f\x7f]|(?<=\xc2)[\x80-\x9f]", b"?", text[:65536]) for text in texts]
    assert wrong("said", {(text,): line.decode("latin-1") for text, line in zip(texts, shown, strict=True)}) == []


def test_each_way_to_switch_maple_off_in_a_script() -> None:
    """A comment on a line of its own, with blanks anywhere between its words."""
    parts = [b"", b" ", b"\t", b"#", b"maple:", b"off", b"\r", b"\n", b"x"]
    line, scripts = [b"#", b" ", b"maple:", b" ", b"off", b""], set[bytes]()
    for at, part, to, other in itertools.product(range(6), parts, range(6), parts):
        words = [*line]
        words[at], words[to] = part, other
        scripts |= {b"".join(words), b"srun\n" + b"".join(words) + b"\nsrun"}
    assert wrong("off", {(script,): int(OFF.search(script) is not None) for script in scripts}) == []


def test_each_audit_line_is_one_object() -> None:
    """On one line, and of four thousand bytes at most."""
    around = [(begin, end) for begin in (b"{", b"", b"x") for end in (b"}", b"", b"x")]
    rows = [begin + bytes((byte,)) + end for byte in range(256) for begin, end in around]
    rows += [b"{" + b"x" * size + b"}" for size in (0, 3997, 3998, 3999)] + [b""]
    assert wrong("object", {(row,): int(OBJECT.fullmatch(row) is not None) for row in rows}) == []


def test_each_name_of_a_descriptor() -> None:
    """/dev/stdin, and numbers of up to six digits in the two folders that have them."""
    folders = (
        b"/dev/fd/",
        b"/proc/self/fd/",
        b"/dev/fd",
        b"/dev/fx/",
        b"/proc/self/fx/",
        b"dev/fd/",
        b"/dev/fd//",
        b"",
    )
    ends = (b"", b"0", b"7", b"63", b"007", b"123456", b"1234567", b"-1", b"3x", b"x3", b" 3", b"3/")
    expected: dict[Row, object] = {(b"/dev/stdin",): 0, (b"/dev/stdin0",): -1, (b"/dev/stdi",): -1}
    for path in (folder + end for folder in folders for end in ends):
        match = DESCRIPTOR.fullmatch(path)
        expected[(path,)] = int(match.group(1)) if match else -1
    assert wrong("descriptor", expected) == []


def test_the_hash_of_each_length() -> None:
    """Of up to three blocks of sixty-four bytes."""
    texts = [bytes(range(size)) for size in range(200)]
    assert wrong("hash", {(text,): hashlib.sha256(text).hexdigest() for text in texts}) == []


def test_each_folder_on_the_way_to_a_copy_is_guarded_or_not() -> None:
    """Root's or one's own, and others write it nowhere, or add to it alone."""
    expected: dict[Row, object] = {}
    for mode, uid, gid in _owned():
        guarded = stat.S_ISDIR(mode) and uid in (0, os.getuid()) and (mode & 0o022 == 0 or mode & STICKY != 0)
        expected[b"%o" % mode, b"%d" % uid, b"%d" % gid] = int(guarded)
    assert wrong("guarded", expected) == []


def test_each_program_on_the_way_to_the_child_is_ours_or_not() -> None:
    """Root's or, but for root, the front's owner's; its group is root's or, of what is one's own, one's own."""
    me, group, expected = os.getuid(), os.getgid(), dict[Row, object]()
    for mode, uid, gid in _owned():
        private = me != 0 and (uid, gid) == (me, group)
        shared = mode & 0o002 != 0 or (mode & 0o020 != 0 and gid != 0 and not private)
        ours = uid in (0, me) and (not shared or (stat.S_ISDIR(mode) and mode & STICKY != 0))
        expected[b"%o" % mode, b"%d" % uid, b"%d" % gid] = int(ours)
    assert wrong("unshared", expected) == []


def _owned() -> list[tuple[int, int, int]]:
    """Return kind and rights, owner and group: every way in which a file or a folder may be anybody's."""
    modes = [
        kind | right | sticky for kind in (stat.S_IFDIR, stat.S_IFREG) for right in WRITTEN for sticky in (0, STICKY)
    ]
    users, groups = {0, os.getuid(), os.getuid() + 4242}, {0, os.getgid(), os.getgid() + 4242}
    return list(itertools.product(modes, sorted(users), sorted(groups)))
