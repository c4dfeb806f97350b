"""What a release is made of: the helper's package, the front, the site's facts; and where this Maple keeps them."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any, NamedTuple

import maple_submit_filter
from maple_agents.ask import sites
from maple_submit_filter.host import places
from maple_submit_filter.site import snapshot
from maple_submit_filter.site.facts import GENERIC_PBS, GENERIC_SLURM, Site

from ..refusals import Refused

GENERIC = {site.id: site for site in (GENERIC_SLURM, GENERIC_PBS)}
DOCUMENTS = {
    "man/man1": "man/man1",
    "man/man7": "man/man7",
    "completion/bash": "bash-completion/completions",
    "completion/zsh": "zsh/site-functions",
    "completion/fish": "fish/vendor_completions.d",
}  # folders below packaging/ -> below share/, as pyproject.toml has them in the wheel
LEFT_OUT = ("__pycache__", "build", "README.md")


class Sources(NamedTuple):
    """*compiler* "" means that the front is *built* already, None where it is not. *site* is the snapshot, as JSON.

    *reader*: packages of the process that reads a user's files, () where there is none. *draft*: the site's file, where
    it is none that is found without this installation.
    """

    version: str
    package: Path
    front: Path
    templates: Path | None
    compiler: str
    site: dict[str, Any]
    reader: tuple[Path, ...] = ()
    built: Path | None = None
    draft: Path | None = None
    documents: tuple[tuple[Path, str], ...] = ()  # pages and completions, and where in `share` they are looked for

    def digest(self, *more: str) -> str:
        """Return a hash of all that goes into a release; *more* is what the installation adds."""
        total = hashlib.sha256()
        parts = filter(None, (self.package, self.front, self.templates, *self.reader))
        paths = [(path, str(path.relative_to(root))) for root in parts for path in files(root)]
        for path, place in (*paths, *self.documents):
            total.update(b"%s\0%s\0" % (os.fsencode(place), path.read_bytes()))
        if self.built is not None and not self.compiler:
            total.update(self.built.read_bytes())
        for word in (self.compiler, json.dumps(self.site, sort_keys=True), *more):
            total.update(word.encode("utf-8", "surrogateescape") + b"\0")
        return total.hexdigest()[:12]


def sources(wanted: str, compiler: str | None = None) -> Sources:
    """Return what a release for the site is made of. *wanted*: its id, or the file of a draft.

    *compiler* None: the one of this machine; "": none.
    """
    site_id = sites.named(wanted)
    package = Path(maple_submit_filter.__file__).resolve().parent
    templates = places.folders("templates")
    front = front_folder(package)
    return Sources(
        version=maple_submit_filter.__version__,
        package=package,
        front=front,
        built=next((path for path in (front / "front", front / "build" / "front") if path.is_file()), None),
        templates=Path(templates[0]) if templates else None,
        compiler=find_compiler() if compiler is None else compiler,
        site=snapshot.write(site(site_id)),
        draft=draft(site_id),
        documents=documents(package),
    )


def documents(package: Path) -> tuple[tuple[Path, str], ...]:
    """Return man pages and completions: those of a checkout, else those that came with the wheel, among others'."""
    checkout, installed = package.parents[1] / "packaging", Path(sys.prefix) / "share"
    here = (checkout / "man").is_dir()
    folders = ((checkout / folder if here else installed / place, place) for folder, place in DOCUMENTS.items())
    pages = ((path, place) for folder, place in folders for path in sorted(folder.glob("*maple*")))
    return tuple((path, f"{place}/{path.name}") for path, place in pages)


def site(site_id: str) -> Site:
    """Return the site of that id as files bring it, whatever was applied; refuse an unknown one, name the nearest."""
    known = sorted({*sites.ids(), *GENERIC})
    if site_id not in known:
        from maple_agents.base.near_names import meant

        raise Refused(
            f"--site {site_id}: there is no such site",
            f"{meant(site_id, known)} known are {', '.join(known)}".strip(),
        )
    try:
        return sites.load(site_id, applied=False) if site_id in sites.ids() else GENERIC[site_id]
    except ValueError as error:
        raise Refused(f"--site: {site_id}: {error}", f"maple site lint {site_id}") from None


def draft(site_id: str) -> Path | None:
    """Return the file of a site where no folder of site files has it: one that was named, or that was installed so."""
    path = Path(sites.path(site_id, applied=False)) if site_id in sites.ids() else None
    return None if path is None or str(path.parent) in places.folders(sites.FOLDER) else path


def read_json(path: Path) -> Any:
    """Return what a JSON file holds. Raises `ValueError` or `OSError`."""
    return json.loads(path.read_bytes())


def front_folder(package: Path) -> Path:
    """Return where the sources of the front lie: beside the package in a checkout, else in the share folder."""
    for folder in (package.parent / "front", *map(Path, places.folders("front"))):
        if (folder / "front.h").is_file():
            return folder
    raise Refused("the sources of the front are not there", "install the whole of maple-hpc")


def find_compiler() -> str:
    """Return the C compiler of this machine, "" when there is none."""
    return next((path for name in ("cc", "gcc", "clang") if (path := shutil.which(name))), "")


def copy_tree(root: Path, target: Path) -> None:
    """Copy the files below *root* that a release takes."""
    for path in files(root):
        place = target / path.relative_to(root)
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, place)


def files(root: Path) -> list[Path]:
    """Return the files below *root* that a release takes, in order."""
    paths = (path for path in root.rglob("*") if path.is_file() and not path.is_symlink())
    return sorted(path for path in paths if not any(part in LEFT_OUT for part in path.relative_to(root).parts))
