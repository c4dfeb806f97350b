"""Makes a Llama of two layers that knows nothing, in a folder: `python tiny_llama.py FOLDER`. Wants transformers."""

from __future__ import annotations

import sys

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

CHAT = (
    "{% for turn in messages %}<|role|>{{ turn.role }}\n{{ turn.content }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|role|>assistant\n{% endif %}"
)


def tokenizer() -> PreTrainedTokenizerFast:
    """Return a tokenizer of bytes and a few words, with control tokens."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    control = ["<|begin|>", "<|end|>", "<|role|>"]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(vocab_size=289, special_tokens=control, initial_alphabet=alphabet)
    made.train_from_iterator(["train on four nodes with ZeRO-3"], trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=made, bos_token=control[0], eos_token=control[1])
    fast.add_special_tokens({"additional_special_tokens": [control[2]]})
    fast.chat_template = CHAT
    return fast


def main(folder: str) -> None:
    words = tokenizer()
    torch.manual_seed(20)
    config = LlamaConfig(
        vocab_size=len(words),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        max_position_embeddings=4096,
        bos_token_id=words.bos_token_id,
        eos_token_id=words.eos_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    words.save_pretrained(folder)


if __name__ == "__main__":
    main(sys.argv[1])
