"""Lightning makes its own processes where nobody else did."""

import lightning

lightning.Trainer(num_nodes=1, devices=4, strategy="ddp").fit(None)
