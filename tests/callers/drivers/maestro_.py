"""Maestro: a study of two steps, the second after the first."""

import subprocess
import sys
from pathlib import Path

STUDY = f"""
description: {{name: sums, description: two steps}}
batch: {{type: slurm, host: lab, bank: sums, queue: {sys.argv[2]}, nodes: 1}}
study:
  - name: first
    description: writes
    run: {{cmd: "$(LAUNCHER) hostname >/dev/null; echo 20 > value", nodes: 1, procs: 1, walltime: "00:02:00"}}
  - name: second
    description: adds
    run:
      cmd: echo $(( $(cat $(first.workspace)/value) + 22 )) > sum
      nodes: 1
      procs: 1
      walltime: "00:02:00"
      depends: [first]
"""
Path("study.yaml").write_text(STUDY)
maestro = Path(sys.executable).with_name("maestro")
subprocess.run(
    [maestro, "run", "-fg", "-y", "-s", "2", "-o", "study", "study.yaml"], check=True, stdout=subprocess.DEVNULL
)
print(Path("study/second/sum").read_text())
