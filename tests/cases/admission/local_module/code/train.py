from options import parse

args = parse()
