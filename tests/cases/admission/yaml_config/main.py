import argparse

p = argparse.ArgumentParser()
p.add_argument('--config')
p.add_argument('--data')
p.add_argument('--lr', default=1.0)
p.add_argument('--epochs', default=5)
