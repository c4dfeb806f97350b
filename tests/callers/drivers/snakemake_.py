"""Snakemake with its Slurm executor: one rule."""

import subprocess
import sys
from pathlib import Path

RULES = """
rule sum:
    output: "sum"
    resources: runtime=2, mem_mb=100, slurm_partition="%s"
    shell: "echo $(( 20 + 22 )) > {output}"
""" % sys.argv[2]
Path("Snakefile").write_text(RULES)
done = subprocess.run(
    [sys.executable, "-m", "snakemake", "--executor", "slurm", "--jobs", "2", "--latency-wait", "20",
     "--slurm-status-command", "squeue", "--slurm-init-seconds-before-status-checks", "2",
     "--seconds-between-status-checks", "2"],
    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
)  # fmt: skip
Path("snakemake.out").write_text(done.stdout)
print(done.returncode, Path("sum").read_text() if Path("sum").exists() else done.stdout)
