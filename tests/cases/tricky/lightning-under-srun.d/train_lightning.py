"""Lightning finds ranks and master in SLURM_* by itself."""

import lightning

lightning.Trainer(num_nodes=2, devices=4, strategy="ddp").fit(None)
