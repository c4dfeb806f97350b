"""The key words of requests: their spellings, their plurals, and the slips of the hand that are forgiven."""

from __future__ import annotations

from functools import cache

from .vocabulary import listed

_ALIKE = """
node: nodes host hosts machines nnode nnodes
charge: charged charging charges
bill: billed billing
gpu: gpus card cards accelerator accelerators
tile: tiles
gcd: gcds
rank: ranks process processes proc procs
task: tasks ntasks
hour: hours hr hrs h
minute: minutes min mins
day: days d
week: weeks wk wks
second: seconds sec secs
walltime: wallclock walltimelimit
account: acct accounts
project: proj
allocation: alloc
partition: partitions
queue: queues
filesystem: filesystems
container: containers
image: img
environment: env
cluster: clusters supercomputer
program: executable command cmd
each: apiece
total: altogether overall
number: num nr count
maximum: max
approximately: approx
please: pls plz
with: w
"""
_KEYS = """
per every time limit qos quality service charge bill conda venv virtualenv module modules script job array run
launch execute train training fine tune finetune pretrain submit walltime runtime duration site model
launcher paradigm strategy name ppn world size group budget constraint all whole full single double on of and or the a
gb gib inference debug machine login partition account ranks rank requires memory dataset version
"""


@cache
def _table() -> dict[str, str]:
    found = {word: word for word in _KEYS.split()}
    for line in _ALIKE.strip().splitlines():
        key, _, others = line.partition(":")
        found.update(dict.fromkeys([key, *others.split()], key))
    return found


@cache
def _slips() -> dict[str, str]:
    """Return every spelling of a key word of five letters and more with one letter missing, doubled or swapped."""
    found: dict[str, str] = {}
    for word, key in _table().items():
        if len(word) < 5:
            continue
        for at in range(1, len(word)):
            found.setdefault(word[:at] + word[at + 1 :], key)
            found.setdefault(word[:at] + word[at] + word[at:], key)
            if at + 1 < len(word):
                found.setdefault(word[:at] + word[at + 1] + word[at] + word[at + 2 :], key)
    return {slip: key for slip, key in found.items() if slip not in _table() and slip not in _REAL and len(slip) > 3}


_REAL = listed(
    "hour hors hours nods noes acount cad cars care card host hosts cost most tak task rans "
    "rank ran raking inks limit lit trail rain"
    "tran train mode modes model module moule count conda coda cona ever every ting tine "
    "tune time times timed tie site sit"
    "sites single signe sting contain charge change bill bile job scrip runtime untime script "
    "tank cards weeks seeks days"
    "minute minuet part parts party art proc prose project queue launch lunch lanch memory "
    "version whole hole hosted"
) - {"acount"}


@cache
def spelt(word: str) -> str:
    """Return the key word that a plain *word* is, "" where it is none. Slips count from five letters on."""
    return _table().get(word) or _slips().get(word, "")
