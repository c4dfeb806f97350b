import argparse

parser = argparse.ArgumentParser()
parser.add_argument('--lr', default=2)
parser.add_argument('--bs', default=16)
