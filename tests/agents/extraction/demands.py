"""One more demand, put into a request that gave its script: the script has it, or it is told, or it is asked for.

Every kind of demand that a person may have (those that no slot takes, too), in several phrasings, languages and
quotes, at every place where people add something: `make bench-demands` counts those of which nobody heard again.
"""

from __future__ import annotations

import argparse
import json
import random
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from functools import cache
from typing import Any, NamedTuple

from maple_agents.ask import sites
from maple_agents.request.language.vocabulary import listed

from tests.agents.extraction.blind_requests import asked
from tests.agents.extraction.rewrite_measure import requests

# What is demanded: phrasings, a value each. `{}` is the value; what is looked for is the value, or the word behind `|`.
VALUES = {
    "memory": ("187 GB", "93G", "374GiB"),
    "cores": ("11", "13", "23"),
    "name": ("zebra7", "kiwi-run", "Lemur_3"),
    "log": ("zlogs/out.txt", "/tmp/q7.log", "slurm-%j-kiwi.out"),
    "mail": ("q.r@uni.example", "zoe@lab.example"),
    "job": ("7654321", "8123456"),
    "variable": ("OMP_PLACES=threads", "FOO_LEVEL=7", "NCCL_DEBUG=WARN"),
    "module": ("hdf5/1.14.3", "openblas/0.3.99", "nccl"),
    "image": ("kiwi.sif", "/work/img/zebra.sif", "docker://zebra/kiwi:7"),
    "environment": ("zebraenv", "kiwi3"),
    "array": ("0-17%3", "1-37"),
    "constraint": ("hbm80g", "skylake"),
    "reservation": ("maint77", "zebraday"),
    "nodelist": ("nid00[71-77]", "cn0717"),
    "date": ("2027-03-17", "tomorrow"),
    "argument": ("--warmup-ratio 0.037", "--seed 7177", "--no-zebra"),
    "path": ("/data/zebra/set7", "$SCRATCH/zebra", "~/kiwi/run"),
    "ranks": ("3", "7"),
    "nodes": ("17", "23"),
    "gpus": ("3", "7"),
    "hours": ("17", "37"),
    "account": (),
    "place": (),
    "system": ("zebrafs", "kiwifs"),
    "licence": ("matlab7", "zebralic"),
    "signal": ("B:USR1@177", "USR2@377"),
}
PHRASES = {
    "memory": "with {} memory; {} RAM; mem={}; {} de mémoire; {} Arbeitsspeicher; {} geheugen; {} de memoria; "
    "memory: {}; needs {}; {} pamięci; 内存 {}; メモリ {}; at least {} of ram per node; {} di memoria",
    "cores": "{} cores per task; {} CPUs per rank; cpus-per-task {}; {} Kerne pro Prozess; {} cœurs par tâche; "
    "{} kernen per taak; {} núcleos por tarea; cores: {}; {} threads each; OMP threads {}; {} dataloader workers",
    "name": "job name {}; name it {}; call it {}; Jobname {}; nom du job : {}; nombre del trabajo: {}; noem hem {}; "
    'naam: {}; the job should be called "{}"; als „{}“; 作业名 {}; nome: {}; label it {}; title {}',
    "log": "log to {}; output in {}; logs: {}; Ausgabe nach {}; sortie dans {}; uitvoer naar {}; salida en {}; "
    "stdout → {}; write everything to {}; 日志写到 {}",
    "mail": "mail to {}; email {} when done; notify {}; Mail an {}; mail naar {}; courriel à {}; correo a {}; {}; "
    "cc {}; let {} know",
    "job": "after job {}; afterok:{}; only once {} is done; nach Job {}; na job {}; après le job {}; tras el trabajo "
    "{}; depends on {}; wait for {}",
    "variable": "set {}; export {}; {}; env {}; mit {}; met {}; avec {}; con {}; `{}`; environment: {}",
    "module": "module load {}; load {}; modules: {}; with {}; Modul {}; module {} laden; charge {}; `{}`; needs {}",
    "image": "container {}; in {}; image: {}; use {}; Container {}; met container {}; dans {}; en {}; run inside `{}`",
    "environment": "conda env {}; env {}; environment is {}; Umgebung {}; omgeving {}; environnement « {} »; entorno "
    "{}; venv {}; activate {}; conda: {}",
    "array": "array {}; as an array {}; job array: {}; Array {}; tableau {}; --array={}; array van {}; matriz {}",
    "constraint": "constraint {}; -C {}; only {} nodes; feature {}; nur {}; alleen {}; --constraint={}; nodes with {}",
    "reservation": "reservation {}; use the reservation {}; Reservierung {}; reservering {}; réservation {}; "
    "--reservation={}; reserva {}; in our reserved slot {}",
    "nodelist": "on {}; nodelist {}; not on {}; exclude {}; ohne {}; niet op {}; sans {}; -w {}; avoid {}",
    "date": "start on {}; not before {}; begin {}; Start {}; vanaf {}; à partir du {}; a partir de {}; --begin={}",
    "argument": "pass {}; with {}; extra args {}; add {}; und {}; met {}; avec {}; {}; also {}; plus `{}`",
    "path": "data in {}; data is {}; results to {}; run in {}; Daten in {}; data staat in {}; données dans {}; "
    "datos en {}; cd {}; workdir {}; checkpoints: {}",
    "ranks": "{} ranks per node; {} tasks per node; {} Prozesse pro Knoten; {} processen per node; {} tâches par nœud; "
    "{} procesos por nodo; ppn={}; {} tasks/node",
    "nodes": "{} nodes; on {} nodes; {} Knoten; {} nodos; {} nœuds; {} knooppunten; nodes: {}; {}节点; {} nodi; -N {}",
    "gpus": "{} GPUs; {} GPUs per node; {} Karten pro Knoten; {} kaarten; {} cartes; {} tarjetas; gpus={}; {} cards",
    "hours": "{} hours; for {} h; {} Stunden; {} uur; {} heures; {} horas; time: {} hours; {} godzin; {}小时; {} ore; "
    "limit {} hrs",
    "account": "account {}; charge {}; project {}; Projekt {}; projet {}; projectcode {}; cuenta {}; -A {}; {}; "
    "rekening {}; budget {}; „{}“; bill it to {}",
    "place": "partition {}; queue {}; {}; in {}; Partition {}; op {}; partitie {}; wachtrij {}; file {}; cola {}; "
    "« {} »; „{}“; '{}'; `{}`; **{}**; qos {}; in der {}; dans {}; en {}; nella coda {}; 队列 {}; use {}; [{}]; "
    "kolejka {}",
    "system": "filesystems {}; needs {}; mount {}; Dateisystem {}; bestandssysteem {}; système de fichiers {}; fs: {}",
    "licence": "licence {}; -L {}; license: {}; Lizenz {}; licentie {}; needs a {} licence",
    "signal": "signal {}; --signal={}; send {} before the end; with signal {}",
}
PLAIN = {  # demands of words alone, and what must be found again of each
    "exclusive": "exclusive; exclusive nodes please; nodes exclusively for me; exklusiv; exclusief; en exclusivité; "
    "--exclusive; don't share the nodes",
    "requeue": "requeue it if it fails; no requeue; --no-requeue; automatically restart; must be restartable; "
    "automatisch neu starten; herstarten als het stopt",
    "mail": "send me an email; mail me when it ends; notify me; mail mij als het klaar is; Mail bei Ende; "
    "préviens-moi par mail; avísame por correo; emails on failure",
    "debug": "debug queue; in debug; as a debug run; Debug-Warteschlange; debug wachtrij; file de debug; cola de debug",
    "interactive": "interactive; interactively; interaktiv; interactief; en interactif; an interactive session",
    "profile": "with the profiler on; under nsys; profile with nsys; mit Profiler",
    "nvme": "with the local nvme; burst buffer; node-local disk; copy data to nvme first; lokale ssd; lokale schijf",
    "priority": "high priority; low priority; hohe Priorität; hoge prioriteit; haute priorité; prioridad alta",
    "container": "in a container; with apptainer; im Container; in een container; dans un conteneur; en un contenedor",
    "half": "half a node; only half the GPUs; half the usual memory; ein halber Knoten; een halve node; "
    "un demi-nœud; medio nodo; einen Knoten mehr; twice as many nodes; een node meer",
    "time": "overnight; over the weekend; over Nacht; het hele weekend; toute la nuit; toda la noche; until Monday; "
    "as long as possible; bis Montag; tot maandag; the maximum time",
    "copies": "three copies of it; run it five times; fünfmal; vijf keer; cinq fois; cinco veces; for 5 seeds; "
    "one job per config",
    "cpu": "on CPUs only; no GPU; nur CPU; alleen cpu; sans GPU; sin GPU; zonder gpu",
}
PLACES = (
    "{r}, {d}",
    "{r}; {d}",
    "{r}. {D}.",
    "{d}, {r}",
    "{D}. {r}",
    "{r} ({d})",
    "{r} [{d}]",
    "{r} - {d}",
    "{r} — {d}",
    "{r} – {d}",
    "{r}\n- {d}",
    "{r}\n* {d}",
    "{r}\n• {d}",
    "{r}\n· {d}",
    "{r}\n– {d}",
    "{r}\n1) {d}",
    "{r}\n{d}",
    "{r}\n\nP.S. {d}",
    "{r}\n\nPS: {d}",
    "{r}\n\nThanks, Anna\n\n{d}",
    "{r}\n\n-- \nAnna\n{d}",
    "{r} ... oh and {d}",
    "{r} + {d}",
    "{r} | {d}",
    "{r} / {d}",
    "{r} & {d}",
    "{r}, und {d}",
    "{r}, en ook {d}",
    "{r} (bitte {d})",
    "{r}\n> {d}",
    "# {d}\n{r}",
    "{r}  # {d}",
    "{r}\n```\n{d}\n```",
    "{r}\n\tTODO: {d}",
    "{r} *{d}*",
)


class Demand(NamedTuple):
    """*tokens*: one of which has to be found again; () where any question or note about it will do."""

    kind: str
    says: str
    tokens: tuple[str, ...]


def _of_site(kind: str, case: dict[str, Any]) -> tuple[str, ...]:
    """Return places of the site that the words do not name; accounts as the site writes them, from other requests."""
    said = case["words"].lower()
    if kind == "place":
        names = [row.name for row in sites.load(case["site"]).partitions if not row.routed]
    else:
        names = [str(other["account"]) for other in requests() if other["site"] == case["site"] and "account" in other]
    return tuple(name for name in dict.fromkeys(names) if name.lower() not in said)


def demand(kind: str, case: dict[str, Any], chance: random.Random) -> Demand | None:
    """Return a demand of that kind; None where the site has no value for it."""
    if kind.startswith("plain "):
        says = chance.choice(PLAIN[kind[6:]].split("; "))
        return Demand(kind, says, _weighty(says))
    values = VALUES[kind] or _of_site(kind, case)
    if not values:
        return None
    value = chance.choice(values)
    return Demand(kind, chance.choice(PHRASES[kind].split("; ")).replace("{}", value), (value,))


_SMALL = listed("with when under only send them please must first even over until long more many")


def _weighty(says: str) -> tuple[str, ...]:
    words = re.findall(r"[^\W_]+", says.lower())
    return tuple(word for word in words if len(word) > 3 and word not in _SMALL) or tuple(words)


KINDS = (*VALUES, *("plain " + name for name in PLAIN))


class Probe(NamedTuple):
    case: dict[str, Any]
    demand: Demand
    answer: dict[str, Any]
    before: dict[str, Any]

    @property
    def is_silent(self) -> bool:
        """Tell whether a script came in which nothing has the demand, and no word was said of it."""
        if not self.answer.get("script"):
            return False
        told = " ".join([*(one["text"] for one in self.answer["unread"]), *self.answer["advice"]]).lower()
        own = {token for token in _weighty(self.demand.says) if token not in self.before["script"].lower()}
        if any(_stands(token.lower(), told) for token in (*self.demand.tokens, *own)):
            return False
        if self.demand.kind.startswith("plain "):
            return bool(self.answer["script"] == self.before["script"])
        held = json.dumps([self.answer[key] for key in ("slots", "script")], ensure_ascii=False).lower()
        return not any(_stands(token.lower(), held) for token in self.demand.tokens)


def _stands(token: str, held: str) -> bool:
    """Tell whether each part of a value is there; of an amount or a time its number."""
    amount = re.fullmatch(r"(\d+) ?[a-z]*", token)
    parts = [amount[1]] if amount else [part for part in re.split(r"[\s=]+", token) if part]
    return all(re.search(r"(?<![\w.])" + re.escape(part), held) for part in parts)


@cache
def _answer(site: str, words: str, home: str) -> dict[str, Any]:
    return asked({"site": site, "words": words, "must_ask": []}, home).answer


def probes(kind: str, count: int, seed: int, home: str) -> Iterator[Probe]:
    """Yield *count* requests with one more demand each; only those that gave their script without it."""
    chance = random.Random("%s %d" % (kind, seed))
    cases = [case for case in requests() if not case["must_ask"]]
    while count:
        case = chance.choice(cases)
        more = demand(kind, case, chance)
        before = _answer(case["site"], case["words"], home) if more is not None else {}
        if more is None or not before.get("script"):
            continue
        count -= 1
        form = chance.choice(PLACES)
        words = form.replace("{r}", case["words"].rstrip(" .") if "{r}" in form else "").replace("{d}", more.says)
        words = words.replace("{D}", more.says[:1].upper() + more.says[1:])
        yield Probe({**case, "words": words}, more, _answer(case["site"], words, home), before)


def main() -> None:
    """Print for each kind of demand how many were written, told, asked for, and lost."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", default="", help="one kind")
    options = parser.parse_args()
    sums: Counter[str] = Counter()
    with tempfile.TemporaryDirectory() as home:
        for kind in KINDS:
            if options.only not in ("", kind):
                continue
            rows = list(probes(kind, options.count, options.seed, home))
            lost = [one for one in rows if one.is_silent]
            scripts = sum(bool(one.answer.get("script")) for one in rows)
            sums.update(rows=len(rows), scripts=scripts, lost=len(lost))
            print("%-18s %3d: asked or refused %3d, lost %2d" % (kind, len(rows), len(rows) - scripts, len(lost)))
            for one in lost:
                print("    %-9s %-40s ... %r" % (one.case["site"][:9], one.demand.says, one.case["words"][-90:]))
    print("all: %(rows)d demands, %(scripts)d scripts, %(lost)d demands lost" % sums)


if __name__ == "__main__":
    main()
