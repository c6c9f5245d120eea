"""Runs on every rank of test_distributed.py: trains, and saves what this rank ends with."""

import sys

import torch
import torch.distributed as dist
from opacus.distributed import DifferentiallyPrivateDistributedDataParallel as DPDDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler

from lazydp import PrivacyEngine, PrivacyEngineAdaptiveClipping
from models import build, data, squared_loss


def train(
    model,
    *,
    noise,
    batch,
    sampler=None,
    mode="hooks",
    engine=PrivacyEngine,
    multiplier=0.7,
    extra_reads=False,
):
    """A few steps; with extra_reads, rank 0 alone also evaluates, and saves, in between."""
    rank = dist.get_rank() if dist.is_initialized() else 0
    loader = DataLoader(data(), batch_size=batch, sampler=sampler)
    made = engine(accountant="rdp").make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.5),
        data_loader=loader,
        noise_multiplier=multiplier,
        max_grad_norm=1.3,
        poisson_sampling=False,
        noise=noise,
        noise_generator=torch.Generator().manual_seed(5),
        grad_sample_mode=mode,
        criterion=torch.nn.MSELoss(),
    )
    private, optimizer, batches = made[0], made[1], made[-1]
    criterion = made[2] if mode == "ghost" else None
    for _ in range(2):
        for number, one in enumerate(batches):
            torch.manual_seed(10 * number + rank)  # an adaptive bound's own noise
            if extra_reads and rank == 0:
                private.eval()
                with torch.no_grad():
                    private(*data(seed=number)[:][:2])
                private.train()
                if number == 1:
                    private.state_dict()
            optimizer.zero_grad()
            if criterion is None:
                squared_loss(private, one).backward()
            else:
                criterion(private(*one[:2]), one[2]).backward()
            optimizer.step()
    weights = {k.split("module.")[-1]: v.clone() for k, v in private.state_dict().items()}
    return weights | {"bound": torch.tensor(float(optimizer.max_grad_norm))}


def samples():
    """Which of its own examples, counted from 0, this rank drew in each step."""
    model = DPDDP(torch.nn.Sequential(torch.nn.Embedding(400, 2), torch.nn.Flatten()))
    _, _, batches = PrivacyEngine(accountant="rdp").make_private(
        module=model,
        optimizer=torch.optim.SGD(model.parameters(), lr=0.1),
        data_loader=DataLoader(TensorDataset(torch.arange(400)), batch_size=40),
        noise_multiplier=1.0,
        max_grad_norm=1.0,
    )
    return [(batch[0] // 2).tolist() for batch in batches]


def dense_noise():
    """Returns a dense layer after one step of noise alone, from the secret generator."""
    torch.manual_seed(0)
    raw = torch.nn.Sequential(torch.nn.EmbeddingBag(5, 64), torch.nn.Linear(64, 64))
    ids = torch.zeros(8, 1, dtype=torch.int64)
    model, optimizer, _ = PrivacyEngine(accountant="rdp").make_private(
        module=DPDDP(raw),
        optimizer=torch.optim.SGD(raw.parameters(), lr=1.0),
        data_loader=DataLoader(TensorDataset(ids), batch_size=4),
        noise_multiplier=2.0,
        max_grad_norm=0.5,
        poisson_sampling=False,
    )
    before = raw[1].weight.detach().clone()
    (model(ids[:2]) * 0).sum().backward()
    optimizer.step()
    return (raw[1].weight.detach() - before) * 4  # times the batch of all ranks


CASES = {
    "lazy": {"noise": "lazy"},
    "each_step": {"noise": "lazy_each_step"},
    "every_row": {"noise": "every_row"},
    "ghost": {"noise": "lazy", "mode": "ghost"},
    "adaptive": {
        "noise": "lazy",
        "mode": "ghost",
        "engine": PrivacyEngineAdaptiveClipping,
        "multiplier": 0.3,
    },
}


def main():
    dist.init_process_group("gloo")
    results = {}
    for name, options in CASES.items():
        sampler = DistributedSampler(data(), shuffle=False)
        results[name] = train(DPDDP(build("shared")), batch=2, sampler=sampler, **options)
    sampler = DistributedSampler(data(), shuffle=False)
    results["extra_reads"] = train(
        DPDDP(build("shared")), noise="lazy", batch=2, sampler=sampler, extra_reads=True
    )
    results["samples"] = samples()
    results["dense_noise"] = {"noise": dense_noise()}
    torch.save(results, f"{sys.argv[1]}/{dist.get_rank()}.pt")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
