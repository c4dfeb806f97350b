from torch.utils.data import DataLoader

configs = {"batchsize": 32}
train_dataset = BatchDataset("lst", batch_size=configs["batchsize"])
loader = DataLoader(train_dataset, batch_size=1)
model.fit(loader, epochs=100)
