#!/usr/bin/python3 -IS
"""Stands for the real sbatch: writes down how it was called and what it answered, and is it otherwise.

Started by the name sbatch; RECORDED_BY in the folder beside it names the real command, each call adds one JSON line.
"""

import json
import os
import stat
import subprocess
import sys

home = os.path.dirname(os.path.abspath(__file__))
with open(os.path.join(home, "real")) as file:
    real = file.read().strip()
with open("/proc/self/environ", "rb") as file:
    environ = file.read().decode("latin-1").split("\0")
piped = not os.isatty(0) and not stat.S_ISCHR(os.fstat(0).st_mode)
stdin = sys.stdin.buffer.read() if piped else None
done = subprocess.run([real, *sys.argv[1:]], input=stdin, capture_output=True, check=False)
script = next((word for word in sys.argv[1:] if not word.startswith("-") and os.path.isfile(word)), None)
source = None
if script:
    with open(script, "rb") as file:
        source = file.read().decode("latin-1")
entry = {
    "argv": sys.argv[1:],
    "cwd": os.getcwd(),
    "environ": sorted(one for one in environ if one),
    "stdin": stdin.decode("latin-1") if stdin is not None else None,
    "script": source,
    "stdout": done.stdout.decode("latin-1"),
    "stderr": done.stderr.decode("latin-1"),
    "exit": done.returncode,
    "umask": os.umask(0),
}
os.umask(entry["umask"])
with open(os.path.join(home, "calls.jsonl"), "a") as file:
    file.write(json.dumps(entry) + "\n")
sys.stdout.buffer.write(done.stdout)
sys.stderr.buffer.write(done.stderr)
sys.stdout.flush()
sys.exit(done.returncode)
