"""ReFrame: one regression test, run and checked."""

import json
import subprocess
import sys
from pathlib import Path

SETTINGS = """
site_configuration = {"systems": [{"name": "lab", "hostnames": [".*"], "partitions": [
    {"name": "p", "scheduler": "squeue", "launcher": "srun", "environs": ["builtin"], "access": ["-p %s"]}]}],
    "environments": [{"name": "builtin", "cc": "cc"}]}
""" % sys.argv[2]
CHECK = """
import reframe as rfm
import reframe.utility.sanity as sn

@rfm.simple_test
class Says(rfm.RunOnlyRegressionTest):
    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    executable = "echo"
    executable_opts = ["sum=42"]
    num_tasks = 2
    num_tasks_per_node = 1
    time_limit = "2m"

    @sanity_function
    def two_lines(self):
        return sn.assert_eq(sn.count(sn.findall("sum=42", self.stdout)), 2)
"""
Path("settings.py").write_text(SETTINGS)
Path("check.py").write_text(CHECK)
reframe = Path(sys.executable).with_name("reframe")
done = subprocess.run(
    [reframe, "-C", "settings.py", "-c", "check.py", "-r", "--prefix", "rfm",
     "--report-file", "report.json", "--system", "lab"],
    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
)  # fmt: skip
Path("reframe.out").write_text(done.stdout)
report = json.loads(Path("report.json").read_text())
case = report["runs"][0]["testcases"][0]
print(done.returncode, case["name"], case["result"])
