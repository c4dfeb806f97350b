"""Values of slots as people write them: of the described clusters, and invented ones, so that shapes are learnt."""

from __future__ import annotations

import random
import re
import string
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import tomllib

from tests.tagger.sites import SITES

KINDS: dict[str, Any] = tomllib.loads(Path(__file__).with_suffix(".toml").read_text("utf-8"))
"""Values by kind, and by language where it has its own."""


class Values:
    """Draws values by a seed, in one language."""

    def __init__(self, chance: random.Random, language: str) -> None:
        self.chance, self.language = chance, language
        self._cluster = chance.choice(SITES)

    def of(self, slot: str) -> str:
        """Return a value of a slot, or of a filler of the phrases."""
        draw: Callable[[], str] = getattr(self, "_" + slot)
        return draw()

    def _pick(self, choices: Sequence[str]) -> str:
        return self.chance.choice(choices)

    def _number(self, choices: Sequence[int], words: float = 0.12) -> str:
        value = self._pick([str(one) for one in choices])
        names = KINDS["numerals"][self.language]
        if self.chance.random() < (0.4 if self.language == "zh" else words) and int(value) <= 10:
            return names[int(value) - 1]
        return value

    def _nodes(self) -> str:
        if self.language == "en" and self.chance.random() < 0.04:
            return self._pick(
                [
                    "a single",
                    "a couple of",
                    "half a dozen",
                    "a pair of",
                    "a dozen",
                    "one single",
                    "thirty-two",
                    "sixteen",
                ]
            )
        return self._number([1, 2, 2, 3, 4, 4, 5, 6, 8, 8, 10, 12, 16, 20, 24, 32, 64, 128, 256, 7, 9, 48, 100])

    def _gpus_per_node(self) -> str:
        return self._number([1, 2, 3, 4, 4, 4, 6, 8, 8, 12, 16])

    def _gpus(self) -> str:
        return self._number([1, 1, 2, 3, 4, 4, 5, 6, 8, 8, 16, 32, 64, 12, 24])

    def _gpus_total(self) -> str:
        return self._number([4, 6, 8, 12, 16, 24, 32, 64, 128, 256, 512], 0.05)

    def _gpucount(self) -> str:
        return self._number([1, 2, 4, 8, 16, 3])

    def _ranks_per_node(self) -> str:
        return self._number([1, 2, 4, 4, 6, 8, 12, 16, 32])

    def _ranks(self) -> str:
        return self._number([2, 4, 8, 16, 24, 32, 64, 128, 256], 0.03)

    def _cpus(self) -> str:
        return self._number([1, 2, 4, 6, 7, 8, 10, 12, 16, 18, 24, 32, 48, 64, 72, 96], 0.08)

    def _memory(self) -> str:
        number = self._pick(
            [
                "16",
                "32",
                "48",
                "64",
                "100",
                "120",
                "128",
                "180",
                "200",
                "240",
                "256",
                "400",
                "480",
                "500",
                "512",
                "1",
                "2",
                "1.5",
                "750",
            ]
        )
        units = (
            ["T", "TB", " TB"]
            if number in ("1", "2", "1.5")
            else ["G", "GB", " GB", " gigs", "gb", "g", " GiB", "Gb", "GO" if self.language == "fr" else "GB"]
        )
        return number + self._pick(units)

    def _gpu(self) -> str:
        if self.chance.random() < 0.12:
            return self._pick("AHLVBMRXPQ") + str(
                self.chance.choice([10, 20, 50, 90, 120, 150, 220, 300, 350, 500, 600])
            )
        if self.chance.random() < 0.1 and self.language == "en":
            return self._pick(
                [
                    "80GB A100",
                    "40GB A100",
                    "A100 80GB",
                    "H100 80 GB",
                    "A100 (80GB)",
                    "V100 32GB",
                    "grace hopper",
                    "GH 200",
                    "MI 250X",
                ]
            )
        return self._pick(KINDS["gpus"])

    def _walltime(self) -> str:
        chance, lang = self.chance, self.language
        kind = chance.random()
        hours = self._number([1, 2, 3, 4, 5, 6, 8, 10, 12, 12, 16, 18, 20, 24, 24, 30, 36, 48, 48, 72])
        minutes = self._pick(["5", "10", "15", "20", "25", "30", "30", "40", "45", "50", "60", "90", "120"])
        if kind < 0.17:
            return self.clock()
        if kind < 0.27:
            return self._pick(KINDS["whole"][lang])
        if kind < 0.34:
            both = self._pick(["{h}h{m}", "{h}h{m}m", "{h}h {m}m", "{h}h{m}min", "{h} h {m} min", "{h}:{m} h"])
            glue = {
                "en": " hours and {m} minutes",
                "de": " Stunden und {m} Minuten",
                "es": " horas y {m} minutos",
                "fr": " heures et {m} minutes",
                "it": " ore e {m} minuti",
                "zh": "小时{m}分钟",
            }[lang]
            return (both if chance.random() < 0.6 else "{h}" + glue).format(
                h=self._pick(["1", "2", "3", "4", "6", "8", "11"]), m=self._pick(["10", "15", "20", "30", "45"])
            )
        if kind < 0.52:
            return minutes + self._pick(KINDS["minute"][lang])
        if kind < 0.6:
            return _with_unit(self._number([1, 2, 2, 3, 4, 5, 7]), self._pick(KINDS["day"][lang]), lang)
        if kind < 0.65:
            return self._pick(["0.5", "1.5", "2.5", "1,5", "3.5", "0,5", "7.5"]) + self._pick(KINDS["hour"][lang])
        return _with_unit(hours, self._pick(KINDS["hour"][lang]), lang)

    def clock(self) -> str:
        """Return a time as schedulers write it."""
        hours, minutes = (
            self.chance.choice([0, 1, 2, 4, 6, 8, 12, 23, 24, 48]),
            self._pick(["00", "30", "15", "45", "59"]),
        )
        return self._pick(["%02d:%s:00", "%d:%s:00", "%d:%s", "0-%02d:%s", "%02d:%s:00", "1-%02d:%s:00"]) % (
            hours,
            minutes,
        )

    def _hours(self) -> str:
        return self._pick(["1", "2", "3", "4", "6", "8", "12", "24", "48", "0.5", "1.5", "10", "72"])

    def _minutes(self) -> str:
        return self._pick(["10", "15", "20", "30", "45", "60", "90", "120", "240"])

    def _clock(self) -> str:
        return self.clock()

    def _time(self) -> str:
        return self._walltime()

    def _account(self) -> str:
        chance, letters, digits = self.chance, string.ascii_lowercase, string.digits
        if chance.random() < 0.4:
            return of_shape(self._pick(self._cluster.account_shapes or ["[a-z]{3}\\d{4}"]), chance)
        shape = self._pick(
            [
                "lllddd",
                "ldddd",
                "ldddd_l",
                "lll-dddd",
                "llld",
                "LLLddddd",
                "TG-LLLdddddd",
                "llllll-gpu",
                "pddddd",
                "ww",
                "w_w",
                "w-lab",
                "ww_gpu",
                "llll-www-gpu",
                "EUHPC_Ldd_ddd",
                "proj_ddd",
                "groupd",
                "w",
                "def-w",
                "rrg-w",
                "w_dd",
                "ldddd_g",
                "project_ddddddddd",
                "hpc_w",
                "w-dddd",
                "NN",
                "xyz@v100",
                "LLLL-ddd",
                "lllddddddp",
                "w-w-w",
                "Camel",
                "Mixed",
            ]
        )
        if shape == "Camel":
            return "".join(self._word().capitalize() for _ in range(2)) + self._pick(["", "", "_2", "26", "AI", "-gpu"])
        if shape == "Mixed":
            return self._word().capitalize() + self._pick(["GPT", "ML", "HPC", "Sim", "AI", "Bench", "Dyn"])
        if shape == "NN":
            return self._pick(["abc123", "myproject", "mylab", "lab123", "proj42", "thesis", "group", "default"])
        table = {"l": letters, "L": letters.upper(), "d": digits}
        out = []
        literal = {"gpu", "lab", "proj", "group", "def", "rrg", "project", "hpc", "EUHPC", "TG", "xyz@v100"}
        for part in [one for one in _split(shape) if one]:
            if part in literal or not part.isalpha():
                out.append("".join(chance.choice(digits) if sign == "d" and part.isalpha() else sign for sign in part))
            elif set(part) == {"w"}:
                out.append(self._word())
            else:
                out.append("".join(chance.choice(table[sign]) if sign in table else sign for sign in part))
        return "".join(out)

    def _word(self) -> str:
        return "".join(self.chance.choice(KINDS["syllables"]) for _ in range(self.chance.choice([1, 2, 2, 3])))

    def _place(self) -> str:
        draw = self.chance.random()
        if draw < 0.3 and self._cluster.places:
            return self._pick(self._cluster.places)
        if draw < 0.75:
            return self._pick(KINDS["places"])
        stem = self._pick(["gpu", "cpu", "g", "q", "p", self._word(), self._word(), "a100", "h100", "dgx", "hi", "ai"])
        tail = self._pick(
            [
                "-long",
                "_short",
                "-dev",
                "x4",
                "x8",
                "-prio",
                "_q",
                "2",
                "01",
                "-shared",
                "-int",
                "",
                "_80g",
                "-debug",
                "-large",
                "4",
            ]
        )
        return stem + tail

    def _path(self) -> str:
        parts = [
            self._word() if self.chance.random() < 0.5 else self._pick(KINDS["words"])
            for _ in range(self.chance.choice([1, 2, 2, 3]))
        ]
        return "/".join([self._pick(KINDS["roots"]), *parts])

    def _data(self) -> str:
        return self._path() + self._pick(["", "", "/", ".tar", "/imagenet", "/shards", ".zarr", "/c4", "_v2"])

    def _file(self) -> str:
        stem = self._pick(
            [
                "train",
                "main",
                "run",
                "finetune",
                "pretrain",
                "eval",
                "sft",
                "ddp",
                "infer",
                "train_%s" % self._pick(KINDS["words"]),
                "%s_%s" % (self._word(), self._pick(KINDS["words"])),
                "run_clm",
                "trainer",
                "test",
                self._word(),
                "launch",
                "demo",
            ]
        )
        folder = self._pick(
            [
                "",
                "",
                "",
                "",
                "./",
                "src/",
                "scripts/",
                "examples/%s/" % self._word(),
                "~/%s/" % self._word(),
                "../",
                self._path() + "/",
            ]
        )
        return folder + stem + self._pick([".py"] * 9 + [".sh", ".jl", ""] if folder else [".py"] * 9 + [".sh", ".jl"])

    def _program(self) -> str:
        head = self._pick(
            [
                "",
                "",
                "",
                "python ",
                "python ",
                "python3 ",
                "python -u ",
                "bash ",
                "torchrun ",
                "accelerate launch ",
                "deepspeed ",
                "python3.11 ",
                "srun python ",
                "torchrun --nproc_per_node=4 ",
                "mpirun -np 8 ",
                "uv run ",
                "time python ",
                "julia ",
                "torchrun --standalone --nproc-per-node gpu ",
                "srun ",
                "accelerate launch --config_file acc.yaml ",
            ]
        )
        if head and self.chance.random() < 0.08:
            return head.replace("python ", "python -m ") + self._pick(
                ["my.train", "pkg.main", "nanogpt.train", "torch.utils.bottleneck x.py"]
            )
        if self.chance.random() < 0.03:
            return self._pick(
                [
                    "vllm serve %s" % self._pick(KINDS["models"]),
                    "./a.out",
                    "./%s" % self._word(),
                    "gmx mdrun -deffnm md",
                    "lmp -in in.lj",
                    "nvidia-smi",
                ]
            )
        return head + self._file() + (" " + self._arguments() if self.chance.random() < 0.55 else "")

    def _arguments(self) -> str:
        return " ".join(self._argument() for _ in range(self.chance.choice([1, 1, 2, 2, 3, 4])))

    def _argument(self) -> str:
        values = [
            "1e-4",
            "3e-5",
            "0.001",
            "32",
            "256",
            "10",
            "config.yaml",
            "configs/%s.yaml" % self._word(),
            self._path(),
            "42",
            "bf16",
            "4096",
            self._word(),
            "True",
            "16",
            "100",
            "8",
            "'a b'",
            '"%s %s"' % (self._word(), self._word()),
            self._pick(KINDS["models"]),
            "ds_zero3.json",
        ]
        stem = self._pick(
            [
                *KINDS["words"],
                self._word(),
                self._word(),
                "heads",
                "dim",
                "cfg",
                "size",
                "layers",
                "batch",
                "lr",
                "n",
                "hidden",
                "path",
                "in",
                "tokens",
                "ranks",
            ]
        )
        option = self._pick(
            [
                self._pick(KINDS["options"]),
                "--" + stem,
                "--%s%s%s" % (self._pick(KINDS["words"]), self._pick("-_"), stem),
                "-" + stem[0],
            ]
        )
        values += [
            str(self.chance.choice([2, 4, 12, 24, 64, 128, 500, 512, 1000, 1024, 8192, 50000])),
            "%.1f" % self.chance.uniform(0, 9),
            self._word() + self._pick([".yaml", ".json", ".pt", ".csv"]),
            "%s/%s.yaml"
            % (
                self._pick(["cfg", "conf", "configs", "cfgs", self._word()]),
                self._pick([self._word(), "s", "base", "7b"]),
            ),
            "all",
            "on",
            "adamw",
            "auto",
        ]
        form = self.chance.random()
        if form < 0.3:
            return option
        if form < 0.62:
            return "%s %s" % (option, self._pick(values))
        if form < 0.9:
            return "%s=%s" % (option, self._pick(values))
        return "%s=%s" % (
            self._pick(["trainer.max_epochs", "model.dim", "data.batch_size", "lr", "seed", "+exp", "optim.lr"]),
            self._pick(values),
        )

    def _environment(self) -> str:
        return self._pick(
            [
                *KINDS["environments"],
                self._word(),
                self._word() + self._pick(["-env", "_env", "-torch", "311", "2"]),
                self._word(),
                self._path(),
            ]
        )

    def _venv(self) -> str:
        return self._path() + self._pick(["/bin/activate", "/venv/bin/activate", "/env/bin/activate"])

    def _venvdir(self) -> str:
        return self._pick([self._path() + "/venv", self._path() + "/.venv", "~/venv", ".venv", self._path()])

    def _modules(self) -> str:
        names = [self._module() for _ in range(self.chance.choice([1, 1, 2, 2, 3]))]
        return self._pick([" ", " ", ", ", " and ", " + "] if self.language == "en" else [" ", " ", ", "]).join(names)

    def _module(self) -> str:
        name = self._pick(KINDS["modules"]) if self.chance.random() < 0.85 else self._word()
        version = "/" + self._pick(
            [
                "12.4",
                "11.8",
                "13.2.0",
                "2.3.1",
                "4.1.6",
                "3.11",
                "2024.2",
                "24.5",
                "12.3.1",
                "8.9",
                "2023.09-0",
                "6.0",
                "2.5",
            ]
        )
        return name + (version if self.chance.random() < 0.65 else "")

    def _container(self) -> str:
        tag = self._pick(["24.05-py3", "latest", "2.3.1-cuda12", "v1", "23.10", "1.0", "dev"])
        return self._pick(
            [
                self._path() + self._pick([".sif", ".sqsh", ".simg", ".sif", ".img"]),
                self._word() + ".sif",
                "nvcr.io/nvidia/pytorch:" + tag,
                "docker://%s/%s:%s" % (self._word(), self._word(), tag),
                "%s/%s:%s" % (self._word(), self._word(), tag),
                "pytorch/pytorch:" + tag,
                "docker://pytorch/pytorch:" + tag,
                "pytorch_%s.sif" % tag,
                "oras://ghcr.io/%s/%s:%s" % (self._word(), self._word(), tag),
                "rocm/pytorch:" + tag,
                "nvcr.io#nvidia/pytorch:" + tag,
            ]
        )

    def _variables(self) -> str:
        own = "%s_%s=%s" % (
            self._word().upper(),
            self._word().upper(),
            self._pick(["1", "0", "off", "/tmp/x", "4", "true"]),
        )
        return self._pick([*KINDS["variables"], own])

    def _mail(self) -> str:
        name = self._pick(
            [self._word(), "%s.%s" % (self._word(), self._word()), self._word()[0] + self._word(), "me", "jdoe"]
        )
        return "%s@%s" % (
            name,
            self._pick(
                [
                    "uni.edu",
                    "%s.edu" % self._word(),
                    "gmail.com",
                    "lab.org",
                    "cs.%s.de" % self._word(),
                    "%s.ac.uk" % self._word(),
                    "x.cn",
                    "univ-%s.fr" % self._word(),
                ]
            ),
        )

    def _mail_on(self) -> str:
        return self._pick(KINDS["events"][self.language])

    def _array(self) -> str:
        return self._pick(
            [
                "0-9",
                "1-10",
                "1-100%10",
                "0-99",
                "1-5",
                "0-31%4",
                "1-20",
                "0-15:2",
                "10",
                "5",
                "100",
                "8",
                "20",
                "1,3,5",
                "0-3",
                "1-1000%50",
                "50",
            ]
        )

    def _dependency(self) -> str:
        number = str(self.chance.randint(1000, 99999999))
        return self._pick(
            [number, number, number, "afterok:" + number, "afterany:" + number, "#" + number, number + ".pbs01"]
        )

    def _job_name(self) -> str:
        return self._pick(
            [
                self._pick(KINDS["words"]),
                "%s-%s" % (self._pick(KINDS["words"]), self._pick(KINDS["words"])),
                "%s_%s" % (self._pick(KINDS["words"]), self._pick(KINDS["words"])),
                self._word(),
                "%s%d" % (self._pick(KINDS["words"]), self.chance.randint(1, 99)),
                "%s-%s-%d" % (self._pick(KINDS["words"]), self._word(), self.chance.randint(1, 9)),
                "%s_v%d" % (self._word(), self.chance.randint(1, 9)),
                "my_%s" % self._pick(KINDS["words"]),
                "MyJob",
                "test1",
            ]
        )

    def _output(self) -> str:
        return self._pick(
            [
                "logs/%j.out",
                "slurm-%j.out",
                "%x_%j.log",
                "out.txt",
                "train.log",
                "logs/train_%j.log",
                "%s.out" % self._word(),
                self._path() + ".log",
                "log.txt",
                "logs/%A_%a.out",
                "%x.o%j",
                "$HOME/logs/%j.log",
                "run.out",
                "logs/",
                self._path() + "/%j.txt",
                "stdout.log",
            ]
        )

    def _launcher(self) -> str:
        return self._pick(KINDS["launchers"])

    def _paradigm(self) -> str:
        return self._pick(KINDS["paradigms"])

    def _model(self) -> str:
        own = "%s-%s" % (
            self._word().capitalize(),
            self._pick(["7B", "1.3b", "13B", "70b", "350M", "large", "base", "xl", "3B-instruct"]),
        )
        return self._pick(
            [*KINDS["models"], own, own, "a 7B model", "13B", "the 70b model", "8B llama"]
            if self.language == "en"
            else [*KINDS["models"], own, own]
        )

    def _site(self) -> str:
        return self._pick(KINDS["sites"] if self.chance.random() < 0.8 else KINDS["other_sites"])

    def _filesystems(self) -> str:
        names = self.chance.sample(
            ["home", "eagle", "flare", "grand", "scratch", "work", "project", "lustre", "cfs"],
            self.chance.choice([1, 2, 2, 3]),
        )
        return self._pick([":", ":", " and ", ", ", "+", " & ", "/"] if self.language == "en" else [":", ", "]).join(
            names
        )

    # fillers, not labelled

    def _size(self) -> str:
        return self._pick(
            [
                "500 GB",
                "2TB",
                "1.2 TB",
                "1.2M",
                "300k",
                "40GB",
                "10 million",
                "120 GB",
                "3T tokens",
                "1B",
                "50000",
                "15M",
            ]
        )

    def _range(self) -> str:
        return self._pick(["0-9", "1-5", "1 to 10", "0..4", "1,2,3", "12-24"])

    def _params(self) -> str:
        return self._pick(["7B", "1.3B", "350M", "13 billion", "70B", "8 billion", "110M", "2.7b", "1.5 B"])

    def _count(self) -> str:
        return str(
            self.chance.choice(
                [3, 5, 10, 20, 30, 64, 100, 128, 200, 256, 300, 500, 512, 1000, 1024, 2048, 4096, 5000, 10000, 224]
            )
        )

    def _rate(self) -> str:
        return self._pick(["1e-4", "3e-5", "0.001", "0.3", "2.71", "5e-6", "0.92", "93%"])

    def _version(self) -> str:
        return self._pick(["3.11", "2.3", "12.4", "2.1.0", "3.10", "11.8", "4.41", "0.14", "2"])

    def _vram(self) -> str:
        return self._pick(["80GB", "40 GB", "24 GB", "70GB", "16G", "512 GB", "32 gigs", "60 GiB"])

    def _ticket(self) -> str:
        return str(self.chance.randint(1000, 9999999))

    def _field(self) -> str:
        return self._pick(KINDS["fields"])

    def _person(self) -> str:
        return self._pick(KINDS["people"])

    def _title(self) -> str:
        return self._pick(
            [
                "PhD student, Dept. of Physics",
                "Room 3.14, Tel. 555-0199",
                "Research Scientist",
                "Institute for AI, 2nd floor",
                "Postdoc",
            ]
        )

    def _when(self) -> str:
        return self._pick(KINDS["whens"])

    def _phone(self) -> str:
        return self._pick(["555-1234", "+49 89 123456", "x4711", "(217) 555-0142", "ext. 204"])

    def _url(self) -> str:
        return "https://%s.org/%s" % (self._word(), self._word())

    def _error(self) -> str:
        return self._pick(KINDS["errors"])


def _with_unit(number: str, unit: str, language: str) -> str:
    """Return a number with its unit; a number in letters stands apart from it."""
    apart = number[-1].isalpha() and language != "zh" and not unit.startswith((" ", "-"))
    return number + (" " + unit if apart else unit)


def _split(shape: str) -> list[str]:
    return re.findall(r"EUHPC|TG|gpu|lab|proj(?:ect)?|group|def|rrg|hpc|xyz@v100|w+|[a-zA-Z]+|.", shape)


_GROUP = re.compile(r"\(([^()]*)\)(\??)")
_UNIT = re.compile(r"(\[[^\]]+\]|\\d|.)(?:\{(\d+)(?:,(\d+))?\})?(\??)")


def of_shape(pattern: str, chance: random.Random) -> str:
    """Return a text that a simple regular expression of a site file fits."""
    while (group := _GROUP.search(pattern)) is not None:
        taken = "" if group[2] and chance.random() < 0.5 else chance.choice(group[1].split("|"))
        pattern = pattern[: group.start()] + taken + pattern[group.end() :]
    out = []
    for unit, low, high, optional in _UNIT.findall(pattern):
        times = chance.randint(int(low or 1), int(high or low or 1)) * (not optional or chance.random() < 0.5)
        out += [_sign(unit, chance) for _ in range(times)]
    return "".join(out)


def _sign(unit: str, chance: random.Random) -> str:
    if unit == "\\d":
        return chance.choice(string.digits)
    if unit.startswith("["):
        return chance.choice(string.ascii_uppercase if "A-Z" in unit else string.ascii_lowercase)
    return unit
