"""Trains a small network on 1,797 handwritten digits with DistributedDataParallel.

A plain PyTorch script: rank, world size and the address of the store come from the
environment, so it runs under any launcher, on PyTorch 1.13 and later. Rank 0 saves a
checkpoint after every epoch; a run that finds one goes on from there.
"""

import argparse
import csv
import os
from pathlib import Path

import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

HERE = Path(__file__).resolve().parent


def parse_args() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, default=HERE / "digits.csv")
    parser.add_argument("--epochs", type=int, default=12)
    parser.add_argument("--batch-size", type=int, default=16, help="per rank")
    parser.add_argument("--lr", type=float, default=0.05)
    parser.add_argument(
        "--checkpoint",
        type=Path,
        default=Path("train_digits.pt"),
        help="saved after every epoch, resumed from when it is there (default: %(default)s)",
    )
    return parser.parse_args()


def load_digits(path: Path) -> tuple[TensorDataset, TensorDataset]:
    """Returns the training digits and the held-out ones: every fifth line is held out."""
    with path.open(newline="") as file:
        lines = csv.reader(file)
        next(lines)  # column names
        table = torch.tensor([[int(field) for field in line] for line in lines])
    images = table[:, :64].reshape(-1, 1, 8, 8).float() / 16
    labels = table[:, 64]
    held_out = torch.arange(len(table)) % 5 == 0
    return (
        TensorDataset(images[~held_out], labels[~held_out]),
        TensorDataset(images[held_out], labels[held_out]),
    )


def build_model() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(
        nn.Conv2d(1, 16, kernel_size=3, padding=1),
        nn.ReLU(),
        nn.Conv2d(16, 32, kernel_size=3, padding=1),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


def save_checkpoint(path: Path, state: dict) -> None:
    """A reader, or a run after a crash, sees the old file or the new one, never half of one."""
    temporary = path.with_name(path.name + ".tmp")
    with temporary.open("wb") as file:
        torch.save(state, file)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)


def train_epoch(model: nn.Module, optimizer: torch.optim.Optimizer, loader: DataLoader) -> float:
    """Returns the mean loss over the batches of this rank."""
    total = 0.0
    for images, labels in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(images), labels)
        loss.backward()
        optimizer.step()
        total += loss.item()
    return total / len(loader)


def accuracy(model: nn.Module, digits: TensorDataset) -> float:
    """Returns the share of right answers."""
    images, labels = digits.tensors
    with torch.no_grad():
        right = model(images).argmax(dim=1) == labels
    return right.float().mean().item()


def main() -> None:
    args = parse_args()
    rank = int(os.environ["RANK"])
    print(f"rank {rank} pid {os.getpid()} PyTorch {torch.__version__}", flush=True)
    dist.init_process_group("gloo")

    train_digits, held_out_digits = load_digits(args.data)
    sampler = DistributedSampler(train_digits)
    loader = DataLoader(train_digits, batch_size=args.batch_size, sampler=sampler)
    model = build_model()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9)

    # Every rank reads the file before the first collective of the model, and rank 0 cannot
    # write the next one before all have joined in an epoch: no rank reads a newer one.
    done = 0
    if args.checkpoint.exists():
        state = torch.load(args.checkpoint)
        model.load_state_dict(state["model"])
        optimizer.load_state_dict(state["optimizer"])
        done = state["epoch"]
        print(f"rank {rank} resumes after epoch {done}", flush=True)
    ddp_model = DistributedDataParallel(model)

    for epoch in range(done + 1, args.epochs + 1):
        sampler.set_epoch(epoch)
        loss = train_epoch(ddp_model, optimizer, loader)
        if rank == 0:
            # Saved first, printed second: an epoch that was seen is never lost.
            state = {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "epoch": epoch,
            }
            save_checkpoint(args.checkpoint, state)
            print(f"epoch {epoch} of {args.epochs}: loss {loss:.4f}", flush=True)

    if rank == 0:
        share = accuracy(model, held_out_digits)
        print(f"accuracy {100 * share:.1f} % on {len(held_out_digits)} held-out digits", flush=True)
    # DDP's collectives were the only ones: PyTorch 1.13 can hang here, in the process group's end,
    # when the last collective was given a tensor made in Python. And DDP's own threads end before the
    # interpreter does: PyTorch 2.15 otherwise aborts at exit now and then.
    del ddp_model
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
