"""Short private runs, and their brute-force twins."""

import io

import torch

from lazydp import PrivacyEngine
from models import build, loader, squared_loss
from reference import BruteForce


def private(model, *, batches=None, engine=None, optimizer=None, **options):
    chosen = {"noise_multiplier": 0.7, "max_grad_norm": 1.3, "poisson_sampling": False} | options
    engine = engine or PrivacyEngine(accountant="rdp")
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.5)
    batches = loader() if batches is None else batches
    return engine.make_private(module=model, optimizer=optimizer, data_loader=batches, **chosen)


class Interrupted(torch.autograd.Function):
    """Passes its input through; a backward pass that reaches it is interrupted."""

    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        raise KeyboardInterrupt


ADAPTIVE = {
    "clipping": "adaptive",
    "noise_multiplier": 0.5,
    "target_unclipped_quantile": 0.5,
    "clipbound_learning_rate": 0.2,
    "max_clipbound": 10.0,
    "min_clipbound": 0.1,
    "unclipped_num_std": 1.0,
}


def seeded(seed=5):
    return {"noise_generator": torch.Generator().manual_seed(seed)}


def step(model, optimizer, batch):
    optimizer.zero_grad()
    squared_loss(model, batch).backward()
    optimizer.step()


def brute_force(model, *, optimizer=None, loss=squared_loss, **options):
    """Return the brute-force twin of `private` of an equal model."""
    chosen = {"sigma": 0.7, "bound": 1.3, "expected_batch": 4, "seed": 5} | options
    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=0.5)
    return BruteForce(model, optimizer, loss, **chosen)


def reference(name, **options):
    model = build(name)
    return model, brute_force(model, **options)


def trained(name="shared", steps=1, **options):
    model, optimizer, batches = private(build(name), noise="lazy_each_step", **seeded(), **options)
    expected, brute = reference(name)
    for batch, _ in zip(batches, range(steps), strict=False):
        step(model, optimizer, batch)
        brute.step(batch)
    return model, optimizer, expected


def checkpoint_of(engine, model, optimizer):
    """Return the file that engine.save_checkpoint() writes, at its beginning."""
    file = io.BytesIO()
    engine.save_checkpoint(path=file, module=model, optimizer=optimizer)
    file.seek(0)
    return file


def saved(thing):
    file = io.BytesIO()
    torch.save(thing, file)
    file.seek(0)
    return torch.load(file, weights_only=True)
