"""Calls of libraries that say in one name what a program trains with: its optimizer, its data, its model."""

from __future__ import annotations

import ast
import re

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
