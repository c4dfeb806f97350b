from typing import Annotated

import typer

app = typer.Typer()


@app.command()
def main(
    lr: float = typer.Option(0.25, '--lr'),
    seed: Annotated[int, typer.Option('--seed')] = 11,
    epochs: int = 2,
):
    pass


def other(batch_size: int = 3):
    pass
