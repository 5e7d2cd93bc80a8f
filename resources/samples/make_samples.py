"""Train a small network for 400 steps and save two checkpoints of the run: the samples that come with the program.

    python resources/samples/make_samples.py [FOLDER]

Writes `training-step-0200.pth` and `training-step-0400.pth`: model, Adam with two parameter groups, a learning rate
schedule, and what a training script usually keeps beside them. The data are drawn on the spot (filled shapes on a
noisy background), so nothing is downloaded. The seed is fixed: on one machine and one torch release the values come
out the same each time; elsewhere the last bits may differ.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path

import torch
from torch import nn

SEED = 20
STEPS = 400
SAVED_STEPS = (200, 400)
BATCH_SIZE = 64
STEPS_PER_EPOCH = 50
IMAGE_SIZE = 24
CLASSES = ("disc", "ring", "square", "frame", "cross", "stripes")


class ConvBlock(nn.Sequential):
    """Convolution, batch normalisation, activation."""

    def __init__(self, channels_in: int, channels_out: int, stride: int) -> None:
        super().__init__()
        self.conv = nn.Conv2d(channels_in, channels_out, 3, stride=stride, padding=1, bias=False)
        self.norm = nn.BatchNorm2d(channels_out)
        self.act = nn.ReLU()


class ShapeNet(nn.Module):
    """Names the shape in a small grey image."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = ConvBlock(1, 16, stride=1)
        self.stages = nn.ModuleList(
            [ConvBlock(16, 24, stride=2), ConvBlock(24, 32, stride=2), ConvBlock(32, 40, stride=2)]
        )
        self.head = nn.Linear(40, len(CLASSES))

    def forward(self, images: torch.Tensor) -> torch.Tensor:
        features = self.stem(images)
        for stage in self.stages:
            features = stage(features)
        scores: torch.Tensor = self.head(features.mean(dim=(2, 3)))
        return scores


def draw_batch(generator: torch.Generator) -> tuple[torch.Tensor, torch.Tensor]:
    """Images of shape (batch, 1, size, size) and the number of the shape in each."""
    labels = torch.randint(len(CLASSES), (BATCH_SIZE,), generator=generator)
    centre = 9 + 6 * torch.rand(BATCH_SIZE, 2, 1, 1, generator=generator)
    radius = 4 + 4 * torch.rand(BATCH_SIZE, 1, 1, generator=generator)
    rows = torch.arange(IMAGE_SIZE).view(1, -1, 1) - centre[:, 0]
    columns = torch.arange(IMAGE_SIZE).view(1, 1, -1) - centre[:, 1]
    round_distance = (rows**2 + columns**2).sqrt()
    square_distance = torch.maximum(rows.abs(), columns.abs())
    inside = square_distance < radius
    drawn = torch.stack([
        round_distance < radius,
        (round_distance < radius) & (round_distance > radius - 2),
        inside,
        inside & (square_distance > radius - 2),
        inside & ((rows.abs() < 1.5) | (columns.abs() < 1.5)),
        inside & (rows.round().long() % 3 == 0),
    ])  # fmt: skip
    images = drawn[labels, torch.arange(BATCH_SIZE)].float()
    images += 0.25 * torch.randn(images.shape, generator=generator)
    return images.unsqueeze(1), labels


def make_optimizer(model: nn.Module) -> torch.optim.Adam:
    """Adam with weight decay on the kernels alone: two groups, in which the parameters keep their names."""
    kernels = [(name, value) for name, value in model.named_parameters() if value.dim() > 1]
    others = [(name, value) for name, value in model.named_parameters() if value.dim() <= 1]
    return torch.optim.Adam(
        [{"params": kernels, "weight_decay": 1e-4}, {"params": others, "weight_decay": 0.0}],
        lr=2e-3,
        betas=(0.9, 0.99),
    )


def train(folder: Path, steps: int = STEPS, saved_steps: Iterable[int] = SAVED_STEPS) -> list[Path]:
    """Run the training and save a checkpoint after each step of `saved_steps`; returns the files."""
    torch.manual_seed(SEED)
    generator = torch.Generator().manual_seed(SEED)
    model = ShapeNet()
    optimizer = make_optimizer(model)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=STEPS, eta_min=1e-5)
    losses: list[float] = []
    saved: list[Path] = []
    for step in range(1, steps + 1):
        images, labels = draw_batch(generator)
        loss = nn.functional.cross_entropy(model(images), labels)
        optimizer.zero_grad()
        loss.backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
        if step in saved_steps:
            path = folder / f"training-step-{step:04d}.pth"
            checkpoint = {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "scheduler": scheduler.state_dict(),
                "epoch": step // STEPS_PER_EPOCH,
                "step": step,
                "loss": sum(losses[-STEPS_PER_EPOCH:]) / len(losses[-STEPS_PER_EPOCH:]),
                "rng_state": generator.get_state(),
                "config": {
                    "architecture": "ShapeNet",
                    "classes": list(CLASSES),
                    "image_size": (IMAGE_SIZE, IMAGE_SIZE),
                    "batch_size": BATCH_SIZE,
                    "steps": STEPS,
                    "seed": SEED,
                },
            }
            torch.save(checkpoint, path)
            saved.append(path)
    return saved


def main() -> None:
    torch.set_num_threads(1)  # sums of several threads may round in another order
    torch.use_deterministic_algorithms(True)
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent
    for path in train(folder):
        facts = torch.load(path, weights_only=True)
        print(f"{path}: {path.stat().st_size:,} bytes, step {facts['step']}, loss {facts['loss']:.4f}")


if __name__ == "__main__":
    main()
