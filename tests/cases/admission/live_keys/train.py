import sys

import yaml

cfg = yaml.safe_load(open(sys.argv[1]))
train(lr=cfg["lr"], **cfg)
