"""A site as JSON, and back: the form that the submit path reads."""

from __future__ import annotations

from typing import Any, Callable, Dict, Tuple

from .facts import Demand, GpuRequest, LauncherFact, LaunchTemplate, NodeKind, Partition, Site, SizeBin, Unfit

FORMAT = 1  # raised when an older reader could misunderstand a newer snapshot

Check = Callable[[object, str], Any]


def from_snapshot(data: object) -> Site:
    """Return the site of a snapshot (parsed JSON). Raises `ValueError` with one line when it does not fit."""
    if not isinstance(data, dict):
        raise ValueError("site snapshot: not an object")
    if data.get("format") != FORMAT:
        raise ValueError("site snapshot: format %r, this Maple reads %d" % (data.get("format"), FORMAT))
    site: Site = _tuple(Site, {key: value for key, value in data.items() if key != "format"}, "site snapshot")
    return site


def write(site: Site) -> Dict[str, Any]:
    """Return *site* as what `json.dumps` takes; `read` gives the same site back."""
    return {"format": FORMAT, **_plain(site)}


def _plain(value: Any) -> Any:
    if hasattr(value, "_asdict"):
        return {key: _plain(field) for key, field in value._asdict().items()}
    return [_plain(item) for item in value] if isinstance(value, tuple) else value


def _tuple(shape: Any, data: object, at: str) -> Any:
    """Return the NamedTuple *shape* out of an object; what is left out takes its default."""
    if not isinstance(data, dict):
        raise ValueError("%s: not an object" % at)
    checks = _SHAPES[shape]
    for key in data:
        if key not in checks:
            raise ValueError("%s: unknown key %r" % (at, key))
    for key in shape._fields:
        if key not in data and key not in shape._field_defaults:
            raise ValueError("%s: %r is missing" % (at, key))
    return shape(**{key: checks[key](value, "%s: %s" % (at, key)) for key, value in data.items()})


def _text(value: object, at: str) -> str:
    if not isinstance(value, str):
        raise ValueError("%s: not a text" % at)
    return value


def _flag(value: object, at: str) -> bool:
    if not isinstance(value, bool):
        raise ValueError("%s: not true or false" % at)
    return value


def _count(value: object, at: str) -> int:
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise ValueError("%s: not a count" % at)
    return value


def _maybe(check: Check) -> Check:
    return lambda value, at: None if value is None else check(value, at)


def _list(check: Check) -> Check:
    def each(value: object, at: str) -> Tuple[Any, ...]:
        if not isinstance(value, (list, tuple)):
            raise ValueError("%s: not a list" % at)
        return tuple(check(item, "%s[%d]" % (at, index)) for index, item in enumerate(value))

    return each


def _of(shape: Any) -> Check:
    return lambda value, at: _tuple(shape, value, at)


_texts = _list(_text)
_maybe_count = _maybe(_count)
_maybe_flag = _maybe(_flag)


def _shape(shape: Any, **checks: Check) -> Dict[str, Check]:
    """Return a check for each field: the one given, else that of a text."""
    return {field: checks.get(field, _text) for field in shape._fields}


_SHAPES: Dict[Any, Dict[str, Check]] = {
    NodeKind: _shape(
        NodeKind,
        gpus=_maybe_count,
        cores=_maybe_count,
        threads_per_core=_maybe_count,
        memory_gib=_maybe_count,
        features=_texts,
        cpus=_maybe_count,
        memory_installed_gib=_maybe_count,
        not_mounted=_texts,
    ),
    Partition: _shape(
        Partition,
        node_kinds=_texts,
        gpus_per_node=_maybe_count,
        min_nodes=_maybe_count,
        max_nodes=_maybe_count,
        max_walltime=_maybe_count,
        shared=_maybe_flag,
        sure=_flag,
        max_gpus=_maybe_count,
        default_walltime=_maybe_count,
        routed=_flag,
        sizes=_list(_of(SizeBin)),
        gpus_multiple=_maybe_count,
        cpus_with_gpus=_maybe_flag,
        max_jobs=_maybe_count,
    ),
    SizeBin: _shape(SizeBin, min_nodes=_count, max_nodes=_count, max_walltime=_count),
    Demand: _shape(Demand, options=_texts, values=_texts, except_values=_texts),
    LauncherFact: _shape(LauncherFact),
    GpuRequest: _shape(GpuRequest, required=_flag),
    LaunchTemplate: _shape(LaunchTemplate, revision=_count, verified=_flag),
    Unfit: _shape(Unfit, remove=_flag),
    Site: _shape(
        Site,
        version=_list(_count),
        kinds=_list(_of(NodeKind)),
        partitions=_list(_of(Partition)),
        partitions_complete=_flag,
        gpu_request=_of(GpuRequest),
        demands=_list(_of(Demand)),
        refusals=_list(_of(Demand)),
        launchers=_list(_of(LauncherFact)),
        srun_inherits_cpus=_maybe_flag,
        kinds_complete=_flag,
        launch_templates=_list(_of(LaunchTemplate)),
        interfaces=_texts,
        account_endings=_texts,
        plugin_options=_texts,
        unfit=_list(_of(Unfit)),
        elsewhere=_texts,
        unsure=_texts,
    ),
}
