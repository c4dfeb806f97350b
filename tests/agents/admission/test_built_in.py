"""What a program has built in: its optimizer, its data and its model, where a call says them whole."""

from __future__ import annotations

import pytest
from maple_agents.admission import names
from maple_agents.admission.python_source import source


def built_in(program: str) -> dict[str, str]:
    """Return what is said in so many words, by name."""
    found = {}
    for each in source(program.encode()).constants:
        what = names.known(each.name)
        if what is not None:
            found[what.name] = names.kept_value(what, each.value)
    return found


@pytest.mark.parametrize(
    "line,optimizer,rate",
    [
        ("optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)", "Adam", "0.001"),
        ("opt = optim.SGD(net.parameters(), 0.1, momentum=0.9)", "SGD", "0.1"),
        ("optimizer = AdamW(params)", "AdamW", None),
        ("self.optim = torch.optim.RMSprop(p, lr=args.lr)", "RMSprop", None),
        ("return optim.NAdam(self.parameters(), lr=2e-4)", "NAdam", "0.0002"),
        ("model.compile(optimizer=keras.optimizers.Nadam(1e-4))", "Nadam", None),
        ("optimizer = bnb.optim.AdamW8bit(model.parameters(), lr=5e-5)", "AdamW8bit", "5e-05"),
        ("trainer = apex.optimizers.FusedLAMB(groups, lr=6e-3)", "FusedLAMB", "0.006"),
        ("scheduler = optim.lr_scheduler.StepLR(optimizer, 30)", None, None),
        ("optimizer = hvd.DistributedOptimizer(optimizer)", None, None),
        ("if args.sgd:\n    o = optim.SGD(p, 0.1)\nelse:\n    o = optim.Adam(p, 1e-3)", None, None),
    ],
)
def test_the_class_of_the_optimizer_is_said(line, optimizer, rate):
    """By its module or its name; of two behind a condition none is known."""
    found = built_in("def main():\n    " + line.replace("\n", "\n    ") + "\n")
    assert (found.get("optimizer"), found.get("learning_rate")) == (optimizer, rate)


@pytest.mark.parametrize(
    "line,data",
    [
        ('load_dataset("wikitext", "wikitext-2-raw-v1")', "wikitext"),
        ('load_dataset("json", data_files="train.jsonl")', "train.jsonl"),
        ('load_dataset("csv", data_files=path)', None),
        ('load_dataset("imagefolder", data_dir="cats")', "cats"),
        ('load_dataset("parquet")', None),
        ('datasets.CIFAR10("./data", train=True)', "CIFAR10"),
        ('torchvision.datasets.MNIST(root="d", train=False)', None),
        ('FashionMNIST("d")', "FashionMNIST"),
        ('datasets.STL10("d", split="test")', None),
        ('datasets.ImageFolder("d")', None),
    ],
)
def test_the_data_is_said(line, data):
    """The name of a published set; a format is no data, and what is loaded for tests is not the training's."""
    assert built_in("ds = " + line + "\n").get("data") == data


@pytest.mark.parametrize(
    "line,model",
    [
        ("models.resnet50()", "resnet50"),
        ("torchvision.models.vit_b_16(weights=None)", "vit_b_16"),
        ("models.__dict__[args.arch]()", None),
        ("models.save(x)", None),
        ('timm.create_model("convnext_tiny", pretrained=True)', "convnext_tiny"),
        ("timm.create_model(args.model)", None),
    ],
)
def test_the_model_is_said(line, model):
    """One of a library, by the name of the function that makes it."""
    assert built_in("net = " + line + "\n").get("model") == model


def test_an_option_of_the_optimizer_is_a_name():
    """`--opt` names an optimizer in some programs, a file or a level in others."""
    for value, kept in (("adamw", "adamw"), ("torch.optim.AdamW", "torch.optim.AdamW"), ("options/train.yml", None),
                        ("train.yml", None), ("true", None), ("3", None)):  # fmt: skip
        assert names.kept_value(names.known("--opt"), value) == kept


@pytest.mark.parametrize(
    "line,model",
    [
        ("model = CNN(640, 360)", "CNN"),
        ("net = HGNNModel(args, dim).to(device)", "HGNNModel"),
        ("model = Net(classes=10).cuda()", "Net"),
        ("model = DistributedDataParallel(model)", None),
        ("model = Classifier(args.model_name)", None),
        ("model = Classifier(backbone=args.net)", None),
        ("model = get_model(args)", None),
        ("model = Sequential(a, b)", None),
        ("if x:\n    model = A()\nelse:\n    model = B()", None),
        ("model = A()\nmodel = B(3)", None),
    ],
)
def test_the_class_of_the_model_is_said(line, model):
    """One of the program's own, where nothing else chooses it; it stands before the default of an option."""
    found = source(line.encode()).constants
    values = {each.value for each in found if each.name == "model_name"}
    assert (values.pop() if len(values) == 1 else None) == model


@pytest.mark.parametrize(
    "line,length",
    [
        ("tokenizer = AutoTokenizer.from_pretrained(base, model_max_length=1024, use_fast=False)", "1024"),
        ("tokenizer = transformers.LlamaTokenizer.from_pretrained(base, model_max_length=args.longest)", None),
        ("model = AutoModel.from_pretrained(base, model_max_length=1024)", None),
    ],
)
def test_the_length_that_a_tokenizer_cuts_at_is_said(line, length):
    """Where it stands there as a number, and for a tokenizer alone."""
    assert built_in(line + "\n").get("sequence_length") == length
