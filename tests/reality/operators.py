"""Seeded changes to right scripts. Whether a mutant is broken is not decided here: reality does that.

An operator takes a script's bytes and a random generator, and returns other bytes, or None where it finds nothing to
change. Those in `KEEPING` are meant to keep the meaning (and reality checks that, too); the rest may break it or not.
"""

from __future__ import annotations

import random
import re
from typing import Callable, Optional, Sequence

from tests.reality.places import body_start, directives, launch_lines, options

Operator = Callable[[bytes, random.Random], Optional[bytes]]
MEANT_TO_BREAK: dict[str, Operator] = {}
KEEPING: dict[str, Operator] = {}

NNODES = rb"--nnodes|--nn"
NPROC = rb"--nproc[-_]per[-_]node|--nproc_per"
NODE_RANK = rb"--node[-_]rank|--machine[-_]rank"


def _operator(table: dict[str, Operator]) -> Callable[[Operator], Operator]:
    def register(function: Operator) -> Operator:
        table[function.__name__.replace("_", "-")] = function
        return function

    return register


breaking = _operator(MEANT_TO_BREAK)
keeping = _operator(KEEPING)


def _put(script: bytes, start: int, end: int, new: bytes) -> bytes:
    return script[:start] + new + script[end:]


def _other_number(old: bytes, chance: random.Random, choices: Sequence[int] = (1, 2, 3, 4, 6, 8)) -> bytes:
    return str(chance.choice([one for one in choices if str(one).encode() != old])).encode()


def _change_value(script: bytes, chance: random.Random, names: bytes, choices: Sequence[int] = (1, 2, 3, 4, 6, 8),
                  among: Optional[Sequence[tuple[int, int]]] = None) -> Optional[bytes]:  # fmt: skip
    """Give one option of these names another number."""
    found = [one for one in options(script, names) if among is None or any(a <= one.start() < b for a, b in among)]
    if not found:
        return None
    one = chance.choice(found)
    return _put(script, *one.span("value"), _other_number(one["value"].strip(b'"'), chance, choices))


def _drop(
    script: bytes, chance: random.Random, names: bytes, among: Optional[Sequence[tuple[int, int]]] = None
) -> Optional[bytes]:
    found = [one for one in options(script, names) if among is None or any(a <= one.start() < b for a, b in among)]
    if not found:
        return None
    one = chance.choice(found)
    return _put(script, *one.span("whole"), b"")


def _drop_flag(script: bytes, flag: bytes) -> Optional[bytes]:
    new = re.sub(rb"(?<=\s)" + flag + rb"(?=\s)", b"", script, count=1)
    return new if new != script else None


def _lines(script: bytes, *launchers: bytes) -> list[tuple[int, int]]:
    return [(line.start, line.end) for line in launch_lines(script) if not launchers or line.launcher in launchers]


# ---- counts


@breaking
def other_nnodes(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _change_value(script, chance, NNODES, (1, 2, 3, 4, 8))


@breaking
def other_nproc(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _change_value(script, chance, NPROC)


@breaking
def other_num_processes(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _change_value(script, chance, rb"--num_processes|--num_machines|--num_gpus", (1, 2, 3, 4, 8, 16))


@breaking
def other_ntasks_per_node(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _change_value(script, chance, rb"--ntasks-per-node", (1, 2, 4, 8), directives(script))


@breaking
def other_nodes(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _change_value(script, chance, rb"--nodes|-N", (1, 2, 3, 4), directives(script))


@breaking
def other_ntasks(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _change_value(script, chance, rb"--ntasks|-n", (1, 2, 3, 4, 8), directives(script))


@breaking
def other_gpus(script: bytes, chance: random.Random) -> Optional[bytes]:
    """Another number of GPUs in the request, the type (if any) kept."""
    found = options(script, rb"--gpus-per-node|--gpus|--gres|-G")
    found = [one for one in found if any(a <= one.start() < b for a, b in directives(script))]
    if not found:
        return None
    one = chance.choice(found)
    kind, colon, number = one["value"].rpartition(b":")
    return _put(script, *one.span("value"), kind + colon + _other_number(number, chance, (1, 2, 3, 4, 8)))


@breaking
def other_step_tasks(script: bytes, chance: random.Random) -> Optional[bytes]:
    among = _lines(script, b"srun", b"mpirun", b"mpiexec", b"ibrun")
    return _change_value(script, chance, rb"-n|-np|--ntasks|-ppn|--ntasks-per-node", (1, 2, 3, 4, 8), among)


@breaking
def more_tasks_than_meant(script: bytes, chance: random.Random) -> Optional[bytes]:
    """The classic fan-out: -n on the srun line says one task for each worker."""
    lines = [line for line in launch_lines(script) if line.launcher == b"srun"]
    if not lines:
        return None
    line = chance.choice(lines)
    return _put(script, line.name_end, line.name_end, b" -n %d" % chance.choice((4, 8)))


@breaking
def wrong_world_size(script: bytes, chance: random.Random) -> Optional[bytes]:
    found = re.search(rb"WORLD_SIZE=(\$?\(?\(?[^\s;'\"]+)", script)
    return _put(script, *found.span(1), _other_number(found[1], chance, (1, 3, 5, 32))) if found else None


# ---- something left out


@breaking
def no_step_tasks(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _drop(
        script,
        chance,
        rb"-n|-np|--ntasks|--ntasks-per-node|-ppn|-N",
        _lines(script, b"srun", b"mpirun", b"mpiexec", b"ibrun"),
    )


@breaking
def no_map_by(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _drop(script, chance, rb"--map-by")


@breaking
def no_node_rank(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _drop(script, chance, NODE_RANK)


@breaking
def no_rendezvous(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _drop(script, chance, rb"--rdzv[-_](?:endpoint|backend|id)")


@breaking
def no_master(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _drop(script, chance, rb"--master[-_](?:addr|port)|--main_process_(?:ip|port)")


@breaking
def no_nnodes(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _drop(script, chance, NNODES)


@breaking
def no_nproc(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _drop(script, chance, NPROC)


@breaking
def no_multi_gpu(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _drop_flag(script, rb"--multi_gpu")


@breaking
def no_ssh_flag(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _drop_flag(script, rb"--no_ssh")


@breaking
def no_standalone(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _drop_flag(script, rb"--standalone")


@breaking
def no_export(script: bytes, chance: random.Random) -> Optional[bytes]:
    """`export X=…` becomes `X=…`."""
    found = list(re.finditer(rb"(?m)^[ \t]*(export )(?=[A-Z_]+=)", script))
    return _put(script, *chance.choice(found).span(1), b"") if found else None


@breaking
def no_master_variable(script: bytes, chance: random.Random) -> Optional[bytes]:
    """The line that sets the master is gone."""
    found = re.search(
        rb"(?m)^[^#\n]*\b(?:MASTER_ADDR|MASTER|HEAD|M|HOST|MAIN|HEAD_NODE|head_node|first|head)=.*\n", script
    )
    return _put(script, *found.span(), b"") if found else None


@breaking
def no_directive(script: bytes, chance: random.Random) -> Optional[bytes]:
    spans = directives(script)
    return _put(script, *chance.choice(spans), b"") if spans else None


# ---- quotes and shells


@breaking
def double_quotes(script: bytes, chance: random.Random) -> Optional[bytes]:
    """bash -c '…' becomes bash -c "…": the batch shell expands what the tasks should."""
    found = re.search(rb"(?:ba)?sh -c\s*(?:\\\n\s*)?'([^'\"]*)'", script)
    return _put(script, found.start(1) - 1, found.end(1) + 1, b'"' + found[1] + b'"') if found else None


@breaking
def no_bash_c(script: bytes, chance: random.Random) -> Optional[bytes]:
    """srun bash -c '…' becomes srun …."""
    found = re.search(rb"bash -c\s*'((?:torchrun|accelerate|deepspeed|python)[^'\"\n]*)'", script)
    return _put(script, *found.span(), found[1]) if found else None


@breaking
def no_backslash(script: bytes, chance: random.Random) -> Optional[bytes]:
    return script.replace(b"\\$SLURM", b"$SLURM") if b"\\$SLURM" in script else None


@breaking
def unquoted_heredoc(script: bytes, chance: random.Random) -> Optional[bytes]:
    """A here-document that becomes a script loses its quotes: the batch shell expands it."""
    new = re.sub(rb"<<\s*'(\w+)'", rb"<<\1", script, count=1)
    return new if new != script else None


# ---- another launcher


@breaking
def no_launcher(script: bytes, chance: random.Random) -> Optional[bytes]:
    """The outer launcher is gone: only the first node starts anything."""
    lines = [
        line
        for line in launch_lines(script)
        if line.launcher in (b"srun", b"ibrun") and _plain_inside(script, line.name_end)
    ]
    if not lines:
        return None
    line = chance.choice(lines)
    return _put(script, line.name_start, line.name_end + 1, b"")


def _plain_inside(script: bytes, at: int) -> bool:
    return re.match(rb"[ \t]+(?:torchrun|bash|python3?|accelerate|deepspeed|\./)", script[at:]) is not None


@breaking
def srun_to_mpirun(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _swap(script, chance, b"srun", b"mpirun")


@breaking
def srun_to_ibrun(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _swap(script, chance, b"srun", b"ibrun")


@breaking
def ibrun_to_srun(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _swap(script, chance, b"ibrun", b"srun")


@breaking
def mpirun_to_srun(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _swap(script, chance, b"mpirun", b"srun")


def _swap(script: bytes, chance: random.Random, old: bytes, new: bytes) -> Optional[bytes]:
    lines = [line for line in launch_lines(script) if line.launcher == old]
    if not lines:
        return None
    line = chance.choice(lines)
    return _put(script, line.name_start, line.name_end, new)


@breaking
def torchrun_to_python(script: bytes, chance: random.Random) -> Optional[bytes]:
    """Only the program is left of the torchrun call."""
    found = re.search(rb"\btorchrun\s(?:[^\n'\"]|\\\n)*?(?=\s[\w./]+\.py)", script)
    return _put(script, *found.span(), b"python") if found else None


@breaking
def python_to_torchrun(script: bytes, chance: random.Random) -> Optional[bytes]:
    """A torchrun under one task for each rank."""
    found = re.search(rb"(?<=[ ;])python3?(?: -u)?(?= train)", script)
    return _put(script, *found.span(), b"torchrun --nproc_per_node=%d" % chance.choice((2, 4))) if found else None


@breaking
def python_for_the_launcher(script: bytes, chance: random.Random) -> Optional[bytes]:
    """The word python in front of the script of a launcher that starts Python itself."""
    found = re.search(rb"\b(?:torchrun|accelerate launch|deepspeed)\s(?:[^\n'\"]|\\\n)*?(?=\btrain\w*\.py)", script)
    word = chance.choice((b"python ", b"python3 -u "))
    return _put(script, found.end(), found.end(), word) if found else None


@breaking
def a_blank_behind_the_backslash(script: bytes, chance: random.Random) -> Optional[bytes]:
    found = list(re.finditer(rb"\\(?=\n[ \t]*-)", script))
    at = chance.choice(found).end() if found else 0
    return _put(script, at, at, chance.choice((b" ", b"\t", b"  "))) if found else None


@breaking
def a_comment_between_the_lines(script: bytes, chance: random.Random) -> Optional[bytes]:
    """An option of the program that was switched off."""
    found = list(re.finditer(rb"\\\n(?=[ \t]*-)", script))
    at = chance.choice(found).end() if found else 0
    return _put(script, at, at, chance.choice((b"    # --debug \\\n", b"# for later\n"))) if found else None


@breaking
def a_dash_of_a_web_page(script: bytes, chance: random.Random) -> Optional[bytes]:
    found = [one for one in options(script, rb"--[a-z][\w-]+") if script[one.start() : one.start() + 2] == b"--"]
    at = chance.choice(found).start() if found else 0
    return _put(script, at, at + 2, chance.choice(("–", "—", "-–")).encode()) if found else None


# ---- masters, ranks, devices


@breaking
def master_is_the_list(script: bytes, chance: random.Random) -> Optional[bytes]:
    """All nodes in place of the first."""
    return _put(script, *found.span(1), b"$SLURM_JOB_NODELIST") if (found := _master(script)) else None


@breaking
def master_is_localhost(script: bytes, chance: random.Random) -> Optional[bytes]:
    return _put(script, *found.span(1), b"localhost") if (found := _master(script)) else None


def _master(script: bytes) -> Optional[re.Match[bytes]]:
    """Find where the first node is asked for."""
    return re.search(
        rb"\b(?:MASTER_ADDR|MASTER|HEAD|M|HOST|MAIN|HEAD_NODE|head_node|first|head)=(\"?\$\(.*?\)\"?)(?=[\s;]|$)",
        script,
        re.MULTILINE,
    )


@breaking
def master_by_task(script: bytes, chance: random.Random) -> Optional[bytes]:
    """Inside the task shell every node takes itself for the master."""
    found = re.search(rb"(?<==)\$(?:MASTER_ADDR|HEAD|M|HOST|MASTER|MAIN|HEAD_NODE)\b", _inside_single_quotes(script))
    return _put(script, *found.span(), b"$(hostname)") if found else None


def _inside_single_quotes(script: bytes) -> bytes:
    """Return the script with everything outside bash -c '…' blanked out, so that offsets stay."""
    kept = bytearray(b" " * len(script))
    for found in re.finditer(rb"bash -c\s*'([^']*)'", script):
        kept[found.start(1) : found.end(1)] = found[1]
    return bytes(kept)


@breaking
def rendezvous_id_by_task(script: bytes, chance: random.Random) -> Optional[bytes]:
    found = re.search(rb"--rdzv[-_]id[= ](\S+)", _inside_single_quotes(script))
    return _put(script, *found.span(1), b"$RANDOM") if found else None


@breaking
def fixed_node_rank(script: bytes, chance: random.Random) -> Optional[bytes]:
    found = options(script, NODE_RANK)
    return _put(script, *found[0].span("value"), b"%d" % chance.choice((0, 1))) if found else None


@breaking
def other_rank_variable(script: bytes, chance: random.Random) -> Optional[bytes]:
    """RANK from the local id, the node rank from the global one, and so on."""
    names = [b"SLURM_PROCID", b"SLURM_LOCALID", b"SLURM_NODEID"]
    found = list(re.finditer(rb"SLURM_(?:PROCID|LOCALID|NODEID)", script))
    if not found:
        return None
    one = chance.choice(found)
    return _put(script, *one.span(), chance.choice([name for name in names if name != one[0]]))


@breaking
def early_rank(script: bytes, chance: random.Random) -> Optional[bytes]:
    """The rank is exported in the batch shell, where it is 0 for all."""
    inside = re.search(rb"(?:export )?RANK=\$\{?SLURM_PROCID\}?;? ?", script)
    lines = launch_lines(script)
    if not inside or not lines or inside.start() < lines[0].start:
        return None
    new = _put(script, *inside.span(), b"")
    return _put(new, lines[0].start, lines[0].start, b"export RANK=$SLURM_PROCID\n")


@breaking
def one_visible_device(script: bytes, chance: random.Random) -> Optional[bytes]:
    at = body_start(script)
    return _put(script, at, at, b"export CUDA_VISIBLE_DEVICES=0\n")


@breaking
def visible_devices_for_eight(script: bytes, chance: random.Random) -> Optional[bytes]:
    """Harmless in most places: CUDA ignores entries beyond the node's."""
    at = body_start(script)
    return _put(script, at, at, b"export CUDA_VISIBLE_DEVICES=0,1,2,3,4,5,6,7\n")


@breaking
def other_partition(script: bytes, chance: random.Random) -> Optional[bytes]:
    """A partition name nobody has heard of."""
    found = [
        one for one in options(script, rb"--partition|-p") if any(a <= one.start() < b for a, b in directives(script))
    ]
    return _put(script, *found[0].span("value"), b"gpuX") if found else None


# ---- the meaning stays


@keeping
def in_a_variable(script: bytes, chance: random.Random) -> Optional[bytes]:
    """The launcher's word comes from a variable."""
    line = _alone(script, chance)
    if line is None:
        return None
    word = script[line.name_start : line.name_end]
    new = _put(script, line.name_start, line.name_end, b"$LAUNCH")
    return _put(new, line.start, line.start, b"LAUNCH=" + word + b"\n")


@keeping
def in_a_function(script: bytes, chance: random.Random) -> Optional[bytes]:
    line = _alone(script, chance)
    if line is None or b"<<" in script[line.start : line.end]:
        return None
    return _put(
        script,
        line.start,
        line.end,
        b"start_training() {\n    " + script[line.start : line.end] + b"\n}\nstart_training",
    )


@keeping
def in_an_array(script: bytes, chance: random.Random) -> Optional[bytes]:
    line = _alone(script, chance)
    text = script[line.start : line.end] if line else b""
    if line is None or line.start != line.name_start or re.search(rb"<<|[<>&]|\\\n", text):
        return None
    return _put(script, line.start, line.end, b"CMD=(" + text + b')\n"${CMD[@]}"')


@keeping
def in_a_heredoc(script: bytes, chance: random.Random) -> Optional[bytes]:
    """The launch line is written to a file, which is then run in a shell of its own."""
    line = _alone(script, chance)
    text = script[line.start : line.end] if line else b""
    names = set(re.findall(rb"\$\{?(\w+)", text))
    if (
        line is None
        or b"<<" in text
        or b"[@]" in text
        or not all(name.startswith(b"SLURM_") or _exported(script, name) for name in names)
    ):
        return None
    new = b"cat > step.$SLURM_JOB_ID.sh <<'STEP'\n" + text + b"\nSTEP\nbash step.$SLURM_JOB_ID.sh"
    return _put(script, line.start, line.end, new)


def _exported(script: bytes, name: bytes) -> bool:
    return re.search(rb"(?m)^[ \t]*export (?:\w+=\S+ )*" + name + rb"=", script) is not None


@keeping
def in_a_block(script: bytes, chance: random.Random) -> Optional[bytes]:
    line = _alone(script, chance)
    if line is None or b"<<" in script[line.start : line.end]:
        return None
    before, after = chance.choice(
        [
            (b"{ ", b"; }"),
            (b"( ", b" )"),
            (b"if true; then\n  ", b"\nfi"),
            (b"if [ $SLURM_NNODES -ge 1 ]; then ", b"; fi"),
        ]
    )
    return _put(script, line.start, line.end, before + script[line.start : line.end] + after)


@keeping
def in_the_background(script: bytes, chance: random.Random) -> Optional[bytes]:
    line = _alone(script, chance)
    if line is None or b"<<" in script[line.start : line.end]:
        return None
    return _put(script, line.end, line.end, b" &\nwait")


@keeping
def through_tee(script: bytes, chance: random.Random) -> Optional[bytes]:
    line = _alone(script, chance)
    return _put(script, line.end, line.end, b" 2>&1 | tee run.log") if line else None


@keeping
def exec_in_front(script: bytes, chance: random.Random) -> Optional[bytes]:
    line = _alone(script, chance)
    if line is None or script[line.end :].strip() or line.start != line.name_start:
        return None
    return _put(script, line.start, line.start, b"exec ")


@keeping
def env_in_front(script: bytes, chance: random.Random) -> Optional[bytes]:
    line = _alone(script, chance)
    return _put(script, line.start, line.start, b"OMP_NUM_THREADS=2 env NCCL_DEBUG=WARN ") if line else None


@keeping
def continued_lines(script: bytes, chance: random.Random) -> Optional[bytes]:
    """A blank in front of an option becomes a continuation."""
    found = [one for one in options(script, rb"--[a-z_-]+") if any(a <= one.start() < b for a, b in _lines(script))]
    found = [one for one in found if script[one.start() - 1 : one.start()] == b" "]
    if not found:
        return None
    at = chance.choice(found).start()
    return _put(script, at, at, b"\\\n        ")


@keeping
def equals_or_blank(script: bytes, chance: random.Random) -> Optional[bytes]:
    found = options(
        script,
        NNODES + b"|" + NPROC + b"|" + NODE_RANK + rb"|--rdzv[-_]\w+|--master[-_]\w+|--num_\w+|--main_process_\w+",
    )
    if not found:
        return None
    one = chance.choice(found)
    return _put(script, *one.span("joint"), b" " if one["joint"] == b"=" else b"=")


@keeping
def dashes_or_underscores(script: bytes, chance: random.Random) -> Optional[bytes]:
    found = options(script, rb"--(?:nproc[-_]per[-_]node|node[-_]rank|rdzv[-_]\w+|master[-_](?:addr|port))")
    found = [one for one in found if b"deepspeed" not in script and b"distributed.launch" not in script]
    if not found:
        return None
    one = chance.choice(found)
    name = one["name"][2:]
    new = name.replace(b"_", b"-") if b"_" in name else name.replace(b"-", b"_")
    return _put(script, *one.span("name"), b"--" + new)


@keeping
def renamed_variable(script: bytes, chance: random.Random) -> Optional[bytes]:
    """A variable of the user's own gets another name everywhere."""
    names = re.findall(rb"(?m)^(?:export )?([A-Za-z]\w*)=\S", script)
    own = [name for name in dict.fromkeys(names) if name not in _READ_BY_OTHERS]
    if not own:
        return None
    old = chance.choice(own)
    # Only where it is a variable: `head` is a command as well.
    used = rb"(?<=\$)NAME\b|(?<=\$\{)NAME\b|(?<=\$\{[#!])NAME\b|(?<![\w-])NAME(?=\+?=)".replace(b"NAME", old)
    return re.sub(used, b"my_" + old.lower() + b"_1", script)


_READ_BY_OTHERS = {
    b"MASTER_ADDR", b"MASTER_PORT", b"WORLD_SIZE", b"RANK", b"LOCAL_RANK", b"CUDA_VISIBLE_DEVICES", b"OMP_NUM_THREADS",
    b"HF_HOME", b"LOGLEVEL", b"ZE_FLAT_DEVICE_HIERARCHY", b"CCL_ATL_TRANSPORT", b"NCCL_SOCKET_IFNAME", b"NODE_RANK",
    b"WORLD_RANK", b"SLURM_EXPORT_ENV",
}  # fmt: skip


@keeping
def comments_and_echoes(script: bytes, chance: random.Random) -> Optional[bytes]:
    at = body_start(script)
    return _put(
        script,
        at,
        at,
        b'# srun -n 64 torchrun --nproc_per_node=64 --node_rank=0 train.py\necho "starting srun torchrun --nnodes=9"\n',
    )


@keeping
def blank_lines(script: bytes, chance: random.Random) -> Optional[bytes]:
    at = body_start(script)
    return _put(script, at, at, b"\n   \n\t\n")


@keeping
def directives_reordered(script: bytes, chance: random.Random) -> Optional[bytes]:
    spans = directives(script)
    joined = [script[a:b] for a, b in spans]
    if (
        len(spans) < 2
        or any(a != b for (_, a), (b, _) in zip(spans, spans[1:]))
        or len({one.split()[1][:6] for one in joined}) < len(joined)
    ):
        return None
    chance.shuffle(joined)
    return _put(script, spans[0][0], spans[-1][1], b"".join(joined))


@keeping
def long_or_short_directive(script: bytes, chance: random.Random) -> Optional[bytes]:
    pairs = [
        (rb"-N[ =]?(?=\d)", b"--nodes="),
        (rb"-n[ =]?(?=\d)", b"--ntasks="),
        (rb"-t[ =]?(?=\d)", b"--time="),
        (rb"-p (?=\w)", b"--partition="),
        (rb"--nodes[= ](?=\d)", b"-N "),
        (rb"--time[= ](?=\d)", b"-t "),
        (rb"--partition[= ]", b"-p "),
    ]
    spans = directives(script)
    able = [
        (found, new)
        for pattern, new in pairs
        for a, b in spans
        for found in re.finditer(rb"(?<=\s)" + pattern, script[a:b])
    ]
    if not able:
        return None
    pattern, new = chance.choice(
        [(p, n) for p, n in pairs if any(re.search(rb"(?<=\s)" + p, script[a:b]) for a, b in spans)]
    )
    for a, b in spans:
        line = re.sub(rb"(?<=\s)" + pattern, new, script[a:b], count=1)
        if line != script[a:b]:
            return _put(script, a, b, line)
    return None


@keeping
def counts_in_variables(script: bytes, chance: random.Random) -> Optional[bytes]:
    """A literal count of the launcher's comes from a variable that the script sets (and exports) first."""
    found = [
        one
        for one in options(script, NNODES + b"|" + NPROC + rb"|--num_processes|--num_machines")
        if one["value"].isdigit()
    ]
    if not found:
        return None
    one = chance.choice(found)
    new = _put(script, *one.span("value"), b"$COUNT_A")
    at = body_start(script)
    return _put(new, at, at, b"export COUNT_A=" + one["value"] + b"\n")


@keeping
def default_value(script: bytes, chance: random.Random) -> Optional[bytes]:
    """A literal count becomes ${UNSET_NAME:-count}."""
    found = [one for one in options(script, NNODES + b"|" + NPROC) if one["value"].isdigit()]
    if not found:
        return None
    one = chance.choice(found)
    return _put(script, *one.span("value"), b"${MY_OWN_COUNT:-" + one["value"] + b"}")


def _alone(script: bytes, chance: random.Random):  # type: ignore[no-untyped-def]
    lines = [line for line in launch_lines(script) if line.alone]
    return chance.choice(lines) if lines else None


OPERATORS: dict[str, Operator] = {**MEANT_TO_BREAK, **KEEPING}
