"""A Python program read as text: its options with their defaults, its imports, and what it says in so many words.

It is parsed, never imported or run. What is computed is unknown.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from .python_values import (
    class_settings,
    given_once,
    is_for_tests,
    is_main,
    is_model,
    is_optimizer,
    keys_taken,
    loaded,
    made_for_tests,
    made_model,
    published,
)

MOST_BYTES = 128 * 1024  # a tree takes several hundred bytes for each byte of its source
_PARSERS_OF_CLASSES = ("HfArgumentParser", "tyro.cli", "pyrallis.parse", "pyrallis.wrap", "draccus.parse", "Fire",
                       "fire.Fire", "typer.run", "simple_parsing.parse")  # fmt: skip
_KEYWORDS = ("TrainingArguments", "Trainer", "SFTConfig", "DPOConfig", "GRPOConfig", "TrainConfig", "TrainingConfig",
             "DataLoader", "SGD", "Adam", "AdamW", "Accelerator", "FusedAdam", "Lion", "Adafactor")  # fmt: skip
_SEEDS = ("manual_seed", "set_seed", "seed_everything", "set_random_seed")
_PARALLEL = {"DistributedDataParallel": "ddp", "DDP": "ddp", "FullyShardedDataParallel": "fsdp", "FSDP": "fsdp",
             "fully_shard": "fsdp"}  # fmt: skip
_STRATEGIES = {"ddp": "ddp", "fsdp": "fsdp", "deepspeed_stage_1": "zero1", "deepspeed_stage_2": "zero2",
               "deepspeed_stage_3": "zero3"}  # fmt: skip
_WRITERS = ("SummaryWriter", "TensorBoardLogger", "CSVLogger")
_TRAINS = ("backward", "fit", "train_batch")


class Declared(NamedTuple):
    """An option of the program. *flags*: without their dashes. *dest*: how the program calls it.

    *default*: None where it is computed, "" where there is none.
    """

    flags: tuple[str, ...]
    dest: str
    default: str | None
    line: int


class Constant(NamedTuple):
    """A constant in the source, under the name that it is given there."""

    name: str
    value: str
    line: int


class Source(NamedTuple):
    """What a file says. *imports*: at its top level. *local*: (dots, module) of what may lie beside it."""

    declared: tuple[Declared, ...] = ()
    constants: tuple[Constant, ...] = ()
    imports: tuple[Constant, ...] = ()
    local: tuple[tuple[int, str], ...] = ()
    hydra: tuple[str | None, str | None] | None = None  # config_path, config_name
    parsed: tuple[str, ...] = ()  # classes and functions that options are made of
    trains: int = 0  # the line that proves it
    classes: Mapping[str, Sequence[Declared]] = {}  # and functions: what would be options if they are parsed
    keys: tuple[str, ...] | None = None  # of its configuration: the only ones that it takes


def source(data: bytes) -> Source:
    """Return what a Python file says, nothing where it is none."""
    if len(data) > MOST_BYTES:
        return Source()
    try:
        tree = ast.parse(data)
        return _Reader(tree).read()
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return Source()


class _Reader:
    def __init__(self, tree: ast.Module) -> None:
        self._tree = tree
        self._constants: dict[str, object] = {}
        self._classes: dict[str, list[Declared]] = {}
        self._declared: list[Declared] = []
        self._said: list[Constant] = []
        self._defaults: dict[str, str | None] = {}
        self._parsed: list[str] = []
        self._hydra: tuple[str | None, str | None] | None = None
        self._trains = 0
        self._maybe = False  # what is looked at stands behind a condition
        self._keywords: dict[str, list[tuple[object, int]]] = {}
        self._for_tests: set[int] = set()  # calls

    def read(self) -> Source:
        self._note_constants()
        imports, local = [], []
        for node in self._tree.body:
            if isinstance(node, ast.Import):
                imports += [Constant(alias.name, "", node.lineno) for alias in node.names]
                local += [(0, alias.name) for alias in node.names]
            if isinstance(node, ast.ImportFrom):
                imports += [Constant(node.module, "", node.lineno)] if node.module and not node.level else []
                local += _local(node)
        for each, maybe in _in_order(self._tree):
            self._maybe = maybe
            self._look(each)
        for name, values in self._keywords.items():
            if all(value is not UNKNOWN for value, _ in values):
                for value, line in values:
                    self._say(name, value, line)
        declared = [
            option._replace(default=self._defaults.get(option.dest, option.default)) for option in self._declared
        ]
        declared += [option for name in self._parsed for option in self._classes.get(name, ())]
        return Source(tuple(declared), tuple(self._said), tuple(imports), tuple(local), self._hydra,
                      tuple(self._parsed), self._trains, self._classes, keys_taken(self._tree))  # fmt: skip

    def _note_constants(self) -> None:
        """Note names of one value; those of the top level say it."""
        for given in given_once(self._tree):
            constant = literal(given.value, {})
            if constant is not UNKNOWN:
                self._constants[given.name] = constant
                if given.is_top:
                    self._say(given.name, constant, given.line)
        for given in class_settings(self._tree):
            self._take(given.name, given.value, given.line)

    def _say(self, name: str, value: object, line: int) -> None:
        if value is not UNKNOWN and value is not None:
            self._said.append(Constant(name, text(value), line))

    def _look(self, node: ast.AST) -> None:
        if isinstance(node, ast.Call):
            self._call(node)
        if isinstance(node, ast.Assign) and made_for_tests(node):
            self._for_tests.update(id(each) for each in ast.walk(node.value))
        if isinstance(node, ast.Assign) and (made := made_model(node)):
            self._take("model_name", ast.Constant(made), node.lineno)
        if isinstance(node, ast.ClassDef):
            self._classes[node.name] = list(self._fields(node))
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            own = list(self._parameters(node))
            self._classes[node.name] = own
            if any(
                dotted(getattr(decorator, "func", decorator)).endswith(".command") for decorator in node.decorator_list
            ):
                self._declared += [
                    each for each in own if each.dest not in {declared.dest for declared in self._declared}
                ]

    def _call(self, call: ast.Call) -> None:
        name = dotted(call.func)
        last = name.rsplit(".", 1)[-1]
        if last == "add_argument" or name in ("click.option", "option"):
            self._option(call)
        elif last.startswith("DEFINE_") and len(call.args) > 1:
            flag = literal(call.args[0], {})
            if isinstance(flag, str):
                self._declared.append(Declared((flag,), flag, self._value(call.args[1]), call.lineno))
        elif last == "set_defaults":
            self._defaults.update({keyword.arg: self._value(keyword.value) for keyword in call.keywords if keyword.arg})
        elif name == "hydra.main":
            self._hydra = (self._keyword(call, "config_path"), self._keyword(call, "config_name"))
        elif name in _PARSERS_OF_CLASSES or last == "HfArgumentParser":
            self._parsed += [tree.id for each in call.args for tree in ast.walk(each) if isinstance(tree, ast.Name)]
        if id(call) not in self._for_tests:
            self._constant(call, name, last)

    def _constant(self, call: ast.Call, name: str, last: str) -> None:
        if last in _SEEDS:
            self._take("seed", call.args[0] if call.args else None, call.lineno)
        elif last == "from_pretrained" and "Tokenizer" in name:
            for keyword in (keyword for keyword in call.keywords if keyword.arg == "model_max_length"):
                self._take("model_max_length", keyword.value, keyword.value.lineno)
        elif last == "from_pretrained" and ("Model" in name or "For" in name):
            self._take("model", call.args[0] if call.args else None, call.lineno)
        elif last == "load_dataset":
            self._take("dataset", loaded(call), call.lineno)
        elif published(name):
            if not is_for_tests(call):
                self._take("data", ast.Constant(published(name)), call.lineno)
        elif is_model(name):
            self._take("model", ast.Constant(last), call.lineno)
        elif name == "timm.create_model":
            self._take("model", call.args[0] if call.args else None, call.lineno)
        elif last in _WRITERS:
            named = {keyword.arg: keyword.value for keyword in call.keywords}
            folder = call.args[0] if call.args else named.get("log_dir", named.get("save_dir"))
            if folder is not None:
                self._take("log_dir", folder, call.lineno)
        elif is_optimizer(name):
            self._optimizer(call, last)
        elif last == "fit" or last.lower().endswith("dataset"):  # one may make the batches itself
            for keyword in (keyword for keyword in call.keywords if keyword.arg in ("epochs", "batch_size")):
                self._take(keyword.arg or "", keyword.value, keyword.value.lineno)
        elif last.endswith(_KEYWORDS):
            for keyword in call.keywords:
                if keyword.arg == "strategy":
                    way = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
                    self._way(_STRATEGIES.get(str(way)), keyword.value.lineno)
                else:
                    self._take(keyword.arg or "", keyword.value, keyword.value.lineno)
        elif last in _PARALLEL:
            self._way(_PARALLEL[last], call.lineno)
        proves = (last in _TRAINS and "." in name) or name.lower().endswith("trainer.train")
        if proves and not self._maybe:
            self._trains = self._trains or call.lineno

    def _optimizer(self, call: ast.Call, last: str) -> None:
        """Note what an optimizer is made of: its class, and the learning rate, behind the parameters or by its name."""
        self._take("optimizer", ast.Constant(last), call.lineno)
        for keyword in call.keywords:
            self._take(keyword.arg or "", keyword.value, keyword.value.lineno)
        if len(call.args) > 1:
            self._take("lr", call.args[1], call.lineno)

    def _take(self, name: str, value: ast.expr | None, line: int) -> None:
        """Note a constant; where one call computes it, or is behind a condition, what the others say is not known."""
        constant = literal(value, self._constants) if value is not None and not self._maybe else UNKNOWN
        self._keywords.setdefault(name, []).append((constant, line))

    def _way(self, way: str | None, line: int) -> None:
        """Note how the program is parallel; of several ways, or one behind a condition, none is proven."""
        self._keywords.setdefault("parallelism", []).append((way if way and not self._maybe else UNKNOWN, line))

    def _option(self, call: ast.Call) -> None:
        words = [word for word in (literal(each, {}) for each in call.args) if isinstance(word, str)]
        flags = [flag for word in words if word.startswith("-") for flag in word.split("/")]
        if not flags:
            return
        dest = self._keyword(call, "dest") or next((word for word in words if not word.startswith("-")), "")
        dest = dest or next((flag for flag in flags if flag.startswith("--")), flags[0])
        default = next((self._value(keyword.value) for keyword in call.keywords if keyword.arg == "default"), "")
        names = tuple(flag.lstrip("-") for flag in flags)
        self._declared.append(Declared(names, dest.lstrip("-").replace("-", "_"), default, call.lineno))

    def _fields(self, node: ast.ClassDef) -> Iterator[Declared]:
        for statement in node.body:
            if isinstance(statement, ast.AnnAssign) and isinstance(statement.target, ast.Name):
                value = _of_field(statement.value)
                yield Declared(
                    (statement.target.id,), statement.target.id, self._value(value) if value else "", statement.lineno
                )

    def _parameters(self, node: ast.FunctionDef | ast.AsyncFunctionDef) -> Iterator[Declared]:
        given = node.args.args
        defaults: list[ast.expr | None] = [None] * (len(given) - len(node.args.defaults)) + list(node.args.defaults)
        pairs = [*zip(given, defaults, strict=True), *zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)]
        for parameter, default in pairs:
            option = default if _is_option(default) else _in_annotation(parameter.annotation)
            value = default
            flags: list[str] = []
            if isinstance(option, ast.Call):
                words = [literal(each, {}) for each in option.args]
                flags = [word.lstrip("-") for word in words if isinstance(word, str) and word.startswith("-")]
                value = (option.args[0] if option.args else None) if option is default else default
            flags = flags or [parameter.arg]
            yield Declared(
                tuple(flags), parameter.arg, self._value(value) if value is not None else "", parameter.lineno
            )

    def _value(self, node: ast.expr) -> str | None:
        constant = literal(node, self._constants) if not self._maybe else UNKNOWN
        return None if constant is UNKNOWN else "" if constant is None or constant is ... else text(constant)

    def _keyword(self, call: ast.Call, name: str) -> str | None:
        argument = next(
            (literal(keyword.value, self._constants) for keyword in call.keywords if keyword.arg == name), None
        )
        return argument if isinstance(argument, str) else None


def _in_order(tree: ast.Module) -> Iterator[tuple[ast.AST, bool]]:
    """Yield every node, and whether it stands behind a condition; that a file is run as a program is none."""
    waiting: list[tuple[ast.AST, bool]] = [(tree, False)]
    while waiting:
        node, maybe = waiting.pop()
        yield node, maybe
        below = maybe or isinstance(node, (ast.IfExp, ast.Try, ast.ExceptHandler, ast.Match))
        below = below or (isinstance(node, ast.If) and not is_main(node.test))
        waiting += [(child, below) for child in ast.iter_child_nodes(node)][::-1]


def _local(node: ast.ImportFrom) -> list[tuple[int, str]]:
    """Return what `from .a import b` may name: the module a, and the module a.b."""
    module = node.module or ""
    return [(node.level, module), *((node.level, (module + "." + name.name).strip(".")) for name in node.names)]


def _is_option(node: ast.expr | None) -> bool:
    return isinstance(node, ast.Call) and dotted(node.func) in ("typer.Option", "Option")


def _in_annotation(node: ast.expr | None) -> ast.expr | None:
    """Return the `typer.Option(...)` of an `Annotated[...]`."""
    inner = ast.walk(node) if isinstance(node, ast.Subscript) else ()
    return next((tree for tree in inner if isinstance(tree, ast.Call) and _is_option(tree)), None)


def _of_field(value: ast.expr | None) -> ast.expr | None:
    """Return the default that a field of a dataclass has: `= 3`, `= field(default=3)`."""
    if isinstance(value, ast.Call) and dotted(value.func).rsplit(".", 1)[-1] == "field":
        named = {keyword.arg: keyword.value for keyword in value.keywords}
        return named.get("default", named.get("default_factory"))
    return value


# What an expression of Python comes to without running it.

UNKNOWN = object()


def dotted(node: ast.AST) -> str:
    """Return a name such as a.b.c; of what is computed only the last."""
    words: list[str] = []
    while isinstance(node, ast.Attribute):
        words.append(node.attr)
        node = node.value
    words.append(node.id if isinstance(node, ast.Name) else "")
    return ".".join(reversed(words))


def literal(node: ast.expr, names: dict[str, object], depth: int = 0) -> object:
    """Return the value of a constant, of a name of one, of -1 and of 4 * 1024."""
    if isinstance(node, ast.Constant) and not isinstance(node.value, (bytes, complex)):
        return node.value
    if isinstance(node, ast.Name):
        return names.get(node.id, UNKNOWN)
    if depth > 4:
        return UNKNOWN
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = literal(node.operand, names, depth + 1)
        return -value if isinstance(value, (int, float)) else UNKNOWN
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        left, other = (literal(each, names, depth + 1) for each in (node.left, node.right))
        if isinstance(left, int) and isinstance(other, int) and max(abs(left), abs(other)) < 1 << 40:
            return left * other
    if isinstance(node, ast.Attribute) and dotted(node) in ("torch.bfloat16", "torch.float16", "torch.float32"):
        return node.attr
    return UNKNOWN


def text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)[:2000]
