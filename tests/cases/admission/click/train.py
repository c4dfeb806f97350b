import click


@click.command()
@click.option('--lr', 'rate', default=0.1)
@click.option('--batch-size', '-b', default=12, show_default=True)
@click.option('--resume-from')
def main(rate, batch_size, resume_from):
    pass
