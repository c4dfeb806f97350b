"""Hydra with its submitit launcher: a sweep over two values, one array job."""

import subprocess
import sys
from pathlib import Path

APP = """
import hydra
from omegaconf import DictConfig

@hydra.main(version_base=None, config_path=None)
def main(config: DictConfig) -> None:
    with open("product", "w") as file:
        file.write(str(config.factor * 21))

if __name__ == "__main__":
    main()
"""
Path("app.py").write_text(APP)
words = ["--multirun", "hydra/launcher=submitit_slurm", "+factor=1,2", f"hydra.launcher.partition={sys.argv[2]}",
         "hydra.launcher.timeout_min=20", "hydra.launcher.mem_gb=null", "hydra.sweep.dir=sweep",
         "hydra.job.chdir=True"]  # fmt: skip
done = subprocess.run([sys.executable, "app.py", *words], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
print(done.returncode, *(path.read_text() for path in sorted(Path("sweep").glob("*/product"))))
