import argparse
import os

BATCH = 4 * 8
parser = argparse.ArgumentParser()
parser.add_argument("--lr", default=float(os.environ["LR"]))
parser.add_argument("--batch_size", default=BATCH)
parser.add_argument("--model", default="gpt2")
parser.set_defaults(model="gpt2-xl")
