import argparse

p = argparse.ArgumentParser()
p.add_argument('--config', default='c.toml')
