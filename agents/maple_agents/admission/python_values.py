"""What a Python program gives one value, and calls of libraries that say in one name what it trains with."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from typing import NamedTuple

_SETTINGS = {"args", "arg", "config", "cfg", "conf", "hparams", "hyperparameters", "params", "opt", "opts", "settings"}
_FOR_TESTS = re.compile(r"(?:^|_)(?:test|val|valid|validation|eval|dev)(?:_|\d|$|set|loader|data|dl|ds)", re.IGNORECASE)
_LOADS = re.compile(r"(?:yaml|json|toml|tomllib|tomli)\.(?:safe_load|full_load|load|loads)")


class Given(NamedTuple):
    """A name with its one value. *is_top*: it stands on the module's top level, or where the file runs as a program."""

    name: str
    value: ast.expr
    line: int
    is_top: bool


def given_once(tree: ast.Module) -> Iterator[Given]:
    """Yield the names that are given a value once in the whole file, on its top level or that of a function."""
    stored = Counter(each.id for each in ast.walk(tree) if isinstance(each, ast.Name) and _stores(each))
    stored.update(each.arg for each in ast.walk(tree) if isinstance(each, ast.arg))
    for body, is_top in _bodies(tree):
        for node in body:
            target: object = node.targets[0] if isinstance(node, ast.Assign) else getattr(node, "target", None)
            value = getattr(node, "value", None)
            is_given = isinstance(node, (ast.Assign, ast.AnnAssign)) and isinstance(value, ast.expr)
            if is_given and isinstance(target, ast.Name) and stored[target.id] == 1 and value is not None:
                yield Given(target.id, value, node.lineno, is_top)


def _stores(name: ast.Name) -> bool:
    return not isinstance(name.ctx, ast.Load)


def _bodies(tree: ast.Module) -> Iterator[tuple[list[ast.stmt], bool]]:
    yield tree.body, True
    for node in tree.body:
        if isinstance(node, ast.If) and is_main(node.test):
            yield node.body, True
    for each in ast.walk(tree):
        if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)):
            yield each.body, False


def is_main(test: ast.expr) -> bool:
    """Return whether a condition is `__name__ == "__main__"`."""
    return isinstance(test, ast.Compare) and isinstance(test.left, ast.Name) and test.left.id == "__name__"


def class_settings(tree: ast.Module) -> Iterator[Given]:
    """Yield what a plain class of settings has: `class args: epochs = 70`."""
    for node in tree.body:
        if isinstance(node, ast.ClassDef) and node.name.lower() in _SETTINGS and not node.decorator_list:
            for each in node.body:
                target = each.targets[0] if isinstance(each, ast.Assign) else None
                if isinstance(each, ast.Assign) and isinstance(target, ast.Name):
                    yield Given(target.id, each.value, each.lineno, True)


def made_for_tests(node: ast.Assign) -> bool:
    """Return whether a name says that what it is given is no training's: `val_loader = …`."""
    return isinstance(node.targets[0], ast.Name) and bool(_FOR_TESTS.search(node.targets[0].id))


def keys_taken(tree: ast.Module) -> tuple[str, ...] | None:
    """Return the keys that a program takes out of the one configuration that it loads, None where it may take any.

    It takes these alone where every use is `config["key"]` or `config.get("key")`.
    """
    given = (each for each in ast.walk(tree) if isinstance(each, ast.Assign))
    loaded = [each.targets[0] for each in given if _is_loaded(each.value)]
    if len(loaded) != 1 or not isinstance(loaded[0], ast.Name):
        return None
    keys = [_key(each, loaded[0].id) for each in ast.walk(tree)]
    uses = sum(isinstance(each, ast.Name) and each.id == loaded[0].id for each in ast.walk(tree))
    taken = tuple(dict.fromkeys(key for key in keys if key is not None))
    return taken if sum(key is not None for key in keys) == uses - 1 else None


def _is_loaded(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and bool(_LOADS.fullmatch(ast.unparse(value.func)))


def _key(node: ast.AST, name: str) -> str | None:
    """Return the key of `name["key"]` and `name.get("key")`."""
    word: ast.expr | None = None
    if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load) and _is(node.value, name):
        word = node.slice
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and _is(node.func.value, name):
        word = node.args[0] if node.func.attr == "get" and node.args else None
    return word.value if isinstance(word, ast.Constant) and isinstance(word.value, str) else None


def _is(node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


_OPTIMIZERS = {
    "Adam", "AdamW", "SGD", "RMSprop", "Adagrad", "Adadelta", "Adamax", "NAdam", "RAdam", "LBFGS", "ASGD", "Rprop",
    "Adafactor", "Lion", "LAMB", "LARS", "FusedAdam", "FusedSGD", "FusedLAMB", "DeepSpeedCPUAdam", "Adam8bit",
    "AdamW8bit", "PagedAdamW8bit", "Muon", "Shampoo",
}  # fmt: skip
_DATASETS = {
    "MNIST", "FashionMNIST", "KMNIST", "EMNIST", "QMNIST", "CIFAR10", "CIFAR100", "SVHN", "STL10", "ImageNet", "CelebA",
    "Places365", "Cityscapes", "VOCDetection", "VOCSegmentation", "LSUN", "Caltech101", "Caltech256", "Food101",
    "Flowers102", "OxfordIIITPet", "StanfordCars", "FGVCAircraft", "EuroSAT", "SBU", "USPS", "Kinetics", "UCF101",
}  # fmt: skip
_FORMATS = ("json", "csv", "parquet", "text", "arrow", "pandas", "imagefolder", "audiofolder", "webdataset", "xml")
_NO_MODELS = ("Trainer", "Parallel", "DDP", "FSDP", "Sequential", "Config", "Wrapper", "Module")
_MODELS = re.compile(
    r"(?:torchvision\.)?models\.(?:(?:wide_)?resnex?t|vgg|densenet|mobilenet|efficientnet|vit_|swin_|convnext|alexnet|"
    r"googlenet|inception|regnet|shufflenet|squeezenet|mnasnet)\w*"
)


def is_optimizer(name: str) -> bool:
    """Return whether a call makes an optimizer: one of a known name, or a class of a module of optimizers."""
    *above, last = name.split(".")
    return last in _OPTIMIZERS or (bool(above) and above[-1] in ("optim", "optimizers") and last[:1].isupper())


def loaded(call: ast.Call) -> ast.expr | None:
    """Return what a load_dataset loads: its first word, or the files where that is a mere format."""
    first = call.args[0] if call.args else None
    if not isinstance(first, ast.Constant) or first.value not in _FORMATS:
        return first
    return next((keyword.value for keyword in call.keywords if keyword.arg in ("data_files", "data_dir")), None)


def is_for_tests(call: ast.Call) -> bool:
    """Return whether a data set is not the training's: `train=False`, `split="test"`."""
    keywords = {keyword.arg: getattr(keyword.value, "value", None) for keyword in call.keywords}
    return keywords.get("train") is False or keywords.get("split") in ("test", "val", "valid")


def published(name: str) -> str:
    """Return the published data set that a call makes, alone or of a module of data sets, also as a `…DataModule`."""
    *above, last = name.split(".")
    last = last.removesuffix("DataModule")
    return last if last in _DATASETS and above in ([], ["datasets"], ["torchvision", "datasets"]) else ""


def is_model(name: str) -> bool:
    """Return whether a call makes a model of torchvision."""
    return bool(_MODELS.fullmatch(name))


def made_model(node: ast.Assign) -> str:
    """Return the class in `model = CNN(…)`, also behind `.to(…)`; "" of a wrapper, or where an option chooses it."""
    target, call = node.targets[0], node.value
    while isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr in ("to", "cuda"):
        call = call.func.value
    if not isinstance(target, ast.Name) or target.id not in ("model", "net") or not isinstance(call, ast.Call):
        return ""
    name = call.func.id if isinstance(call.func, ast.Name) else ""
    words = {getattr(tree, "attr", getattr(tree, "id", "")) for each in call.args for tree in ast.walk(each)}
    words |= {keyword.arg or "**" for keyword in call.keywords}
    chosen = any(word == "**" or "model" in word.lower() or word in ("net", "arch", "backbone") for word in words)
    return name if name[:1].isupper() and not chosen and not name.endswith(_NO_MODELS) else ""
