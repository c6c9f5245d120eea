"""A small private training with canaries, as users write them: what test_audit.py attacks."""

import torch
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

from lazydp import PrivacyEngine

OTHERS, DIM, TIMES = 64, 4, 16


class Clicks(nn.Module):
    """A bag of ids, and a linear layer: a canary's gradient lies in its own row."""

    def __init__(self, rows):
        super().__init__()
        self.table = nn.EmbeddingBag(rows, DIM, mode="sum")
        self.out = nn.Linear(DIM, 1)
        with torch.no_grad():
            self.table.weight.zero_()
            self.out.weight.fill_(0.5)

    def forward(self, ids):
        return self.out(self.table(ids)).squeeze(1)


def data(included):
    """The others use the first rows, canary i row OTHERS + i and that many times over."""
    rows = torch.cat([torch.arange(OTHERS), OTHERS + included.nonzero().flatten()])
    labels = torch.cat([torch.arange(OTHERS) % 2, torch.ones(int(included.sum()))])
    return TensorDataset(rows.unsqueeze(1).expand(-1, TIMES), labels)


def train(
    included,
    *,
    noise_multiplier,
    batches=4,
    epochs=10,
    poisson=True,
    noise="lazy",
    mode="hooks",
    momentum=0.0,
    schedule=False,
    evaluate=False,
    reload=False,
    physical=None,
    wrap=None,
    settle=True,
    change=None,
):
    """Train with the canaries that are included, and return (released module, engine)."""
    examples = data(included)
    size = -(-len(examples) // batches)
    module = Clicks(OTHERS + len(included))
    kept = module.table.weight.detach()  # from before: what no interface of ours can settle
    if wrap:
        module = wrap(module)
    engine = PrivacyEngine()
    optimizer = torch.optim.SGD(module.parameters(), lr=1.0, momentum=momentum)
    criterion = nn.BCEWithLogitsLoss()
    made = engine.make_private(
        module=module,
        optimizer=optimizer,
        data_loader=DataLoader(examples, batch_size=size),
        noise_multiplier=noise_multiplier,
        max_grad_norm=0.1,
        poisson_sampling=poisson,
        noise=noise,
        grad_sample_mode=mode,
        criterion=criterion,
    )
    model, optimizer, loader = made[0], made[1], made[-1]
    if mode == "ghost":
        criterion = made[2]
    if change:
        change(optimizer)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, 2 * epochs)

    def steps(source):
        for ids, labels in source:
            optimizer.zero_grad()
            criterion(model(ids), labels).backward()
            optimizer.step()

    for epoch in range(epochs):
        if physical:
            with BatchMemoryManager(
                data_loader=loader, max_physical_batch_size=physical, optimizer=optimizer
            ) as parts:
                steps(parts)
        else:
            steps(loader)
        if schedule:
            scheduler.step()
        if evaluate:
            model.eval()
            with torch.no_grad():
                model(examples.tensors[0][: OTHERS + 50])
            model.train()
        if reload and epoch == epochs // 2:
            saved = model.state_dict(), optimizer.state_dict()
            model.load_state_dict(saved[0])
            optimizer.load_state_dict(saved[1])
    if not settle:
        stolen = Clicks(len(kept))
        stolen.table.weight.data.copy_(kept)
        return stolen, engine
    return engine.release(model), engine
