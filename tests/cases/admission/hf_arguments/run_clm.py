from dataclasses import dataclass, field

from transformers import AutoModelForCausalLM, HfArgumentParser, Trainer, TrainingArguments


@dataclass
class ModelArguments:
    model_name_or_path: str = field(default="gpt2", metadata={"help": "which"})
    torch_dtype: str = field(default="bfloat16")


@dataclass
class Unused:
    batch_size: int = 999


parser = HfArgumentParser((ModelArguments, TrainingArguments))
trainer = Trainer()
trainer.train()
