import argparse

p = argparse.ArgumentParser()
p.add_argument('--api_key', default='sk-abcdefghijklmnopqrstuvwxyz0123456789')
p.add_argument('--dataset', default='hf_abcdefghijklmnopqrstuvwxyzABCDEFGH')
