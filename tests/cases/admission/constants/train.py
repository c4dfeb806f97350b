import lightning as L
import torch

SEED = 42
BATCH_SIZE = 12
BATCH_SIZE += 1
learning_rate = 6e-4

trainer = L.Trainer(max_epochs=7, strategy='fsdp', precision='bf16-mixed')
trainer.fit(None)
L.seed_everything(SEED)
