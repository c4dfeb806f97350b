"""GPT-2 on OpenWebText with DistributedDataParallel: the program that the scripts here start. A user's, not ours."""

import argparse
import os

import torch
import torch.distributed as dist
import yaml
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler
from transformers import AutoConfig, AutoModelForCausalLM


def main():
    asked = argparse.ArgumentParser()
    asked.add_argument("--config", required=True)
    with open(asked.parse_args().config) as file:
        config = yaml.safe_load(file)
    dist.init_process_group("nccl")
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    model = AutoModelForCausalLM.from_config(AutoConfig.from_pretrained(config["model"])).cuda()
    model = DistributedDataParallel(model, device_ids=[local_rank])
    data = torch.load(config["data"], mmap=True)
    loader = DataLoader(data, config["batch_size"], sampler=DistributedSampler(data), num_workers=8, drop_last=True)
    optimizer = torch.optim.AdamW(model.parameters(), lr=config["lr"])
    every = config["grad_accum"]
    for step, tokens in zip(range(config["steps"] * every), loader):
        loss = model(tokens.cuda(), labels=tokens.cuda()).loss / every
        loss.backward()
        if (step + 1) % every == 0:
            optimizer.step()
            optimizer.zero_grad(set_to_none=True)
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
