from torch.utils.data import DataLoader
from torch.utils.tensorboard import SummaryWriter


class CFG:
    epochs = 70
    optimizer = "radam"
    lr = 0.01 if FAST else 0.1


def main():
    batch_size = 100
    train_loader = DataLoader(train, batch_size=batch_size)
    val_loader = DataLoader(val, batch_size=8)
    writer = SummaryWriter("runs/a")
    model.fit(train_loader, val_loader)


if __name__ == "__main__":
    SEED = 5
    main()
