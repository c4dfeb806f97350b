from torch.nn.parallel import DistributedDataParallel

model = DistributedDataParallel(None)
if __name__ == '__main__':
    loss.backward()
    opt = torch.optim.SGD([], lr=0.5)
