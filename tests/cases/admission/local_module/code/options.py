import argparse


def parse():
    parser = argparse.ArgumentParser()
    parser.add_argument("--learning-rate", type=float, default=3e-4)
    return parser.parse_args()
