"""Scripts of one construct over and over, as nobody writes them, but somebody may send them: kind, pattern, size."""

from __future__ import annotations

from collections.abc import Mapping

from maple_submit_filter.types.submission import Submission

HEAD = b"#!/bin/bash\n#SBATCH --nodes=2\n#SBATCH --ntasks-per-node=4\n#SBATCH --gpus-per-node=4\n"
END = b"\nsrun torchrun --nnodes=2 --nproc_per_node=4 train.py\n"  # wrong, so that there is something to try
KINDS: Mapping[str, bytes] = {
    "folders": b"cd a; cd b\n",
    "folders from variables": b"D=$D/a; cd $D\n",
    "variables": b"A%d=1\n",
    "exports": b"export A%d=1\n",
    "a value that grows": b"A=${A}x\n",
    "a value that doubles": b"A=$A$A\n",
    "a list that grows": b"A+=(x)\n",
    "lists of lists": b'B=("${A[@]}" x)\n',
    "words that grow": b"set -- $@ a\n",
    "sums": b"N=$((N+1))\n",
    "conditions": b"if [ $A = b ]; then B=%d; else C=$B; fi\n",
    "cases": b"case $A in a) B=1;; *) B=2;; esac\n",
    "loops": b"for i in 1 2 3; do echo $i; done\n",
    "loops that read": b"while read l; do X=$l; done < f\n",
    "functions": b"f%d() { echo 1; }\n",
    "calls": b"f() { A=$1; g; }\nf x\n",
    "steps": b"srun python t.py\n",
    "agents": b"srun torchrun --nnodes=2 --nproc_per_node=4 t.py\n",
    "in the background": b"python t.py &\n",
    "waits": b"python t.py & wait\n",
    "substitutions": b"A=$(echo $(hostname) | head -n 1)\n",
    "pipes": b"cat f | grep x | wc -l\n",
    "files": b"cat > f%d <<EOF\nx $A\nEOF\n",
    "a file that grows": b"echo a >> hosts\n",
    "one pipe": b"a | ",
    "one list": b"a && ",
    "negations": b"! ",
    "brackets": b"( ",
    "quotes": b'"',
    "dollars": b"$(",
    "backslashes": b"\\\n",
    "directives": b"#SBATCH --comment=%d\n",
    "comments": b"# hello $A\n",
    "words": b"a ",
}


def script(kind: str, size: int) -> bytes:
    """Return a script of about *size* bytes."""
    pattern, parts, length = KINDS[kind], [HEAD], len(HEAD) + len(END)
    while length < size:
        parts.append(pattern % len(parts) if b"%d" in pattern else pattern)
        length += len(parts[-1])
    return b"".join((*parts, END))


def submission(source: bytes) -> Submission:
    """Return the submission of it by `sbatch job.sh`."""
    return Submission("slurm", (b"sbatch", b"job.sh"), source, "file", b"job.sh", b"/home/user", 1000, {})
