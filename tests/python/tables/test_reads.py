"""Tables as PyTorch shows them: every way to read a table finds it settled.

Eager noise is the oracle: the same cells, never late.
"""

import copy
import os
import pickle
import warnings

import pytest
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector
from torch.optim.swa_utils import AveragedModel

from lazydp import PrivacyEngine
from models import DIM, ROWS, build, data, squared_loss
from training import private, saved, step, trained


def safetensors(model):
    from safetensors.torch import load, save

    tensors = {k: v for k, v in model.state_dict().items() if not k.endswith("right.weight")}
    return load(save(tensors))["_module.left.weight"]


def ema(model):
    weights = {k: torch.zeros_like(p) for k, p in model.named_parameters()}
    with torch.no_grad():
        for key, p in model.named_parameters():
            weights[key].mul_(0.5).add_(p, alpha=1.0)
    return weights["_module.left.weight"]


def averaged(model):
    average = AveragedModel(model)
    average.update_parameters(model)
    return average.module.left.weight


def by_vector(model):
    total = 0
    for p in model.parameters():
        if p is model._module.left.weight:
            break
        total += p.numel()
    return parameters_to_vector(model.parameters())[total : total + ROWS * DIM].view(ROWS, DIM)


READS = {
    "weight": lambda m, o: m._module.left.weight,
    "data": lambda m, o: m._module.left.weight.data,
    "detach": lambda m, o: m._module.left.weight.detach(),
    "clone": lambda m, o: m._module.left.weight.clone(),
    "numpy": lambda m, o: torch.from_numpy(m._module.left.weight.detach().numpy()),
    "tolist": lambda m, o: torch.tensor(m._module.left.weight.tolist()),
    "dlpack": lambda m, o: torch.from_dlpack(m._module.left.weight.detach()),
    "parameters": lambda m, o: next(p for p in m.parameters() if p.shape == (ROWS, DIM)),
    "named": lambda m, o: dict(m.named_parameters())["_module.left.weight"],
    "groups": lambda m, o: next(
        p for g in o.param_groups for p in g["params"] if p.shape == (ROWS, DIM)
    ),
    "vector": lambda m, o: by_vector(m),
    "state_dict": lambda m, o: m.state_dict()["_module.left.weight"],
    "inner_state_dict": lambda m, o: m._module.left.state_dict()["weight"],
    "keep_vars": lambda m, o: m.state_dict(keep_vars=True)["_module.left.weight"],
    "torch_save": lambda m, o: saved(m.state_dict())["_module.left.weight"],
    "pickle": lambda m, o: pickle.loads(pickle.dumps(m.state_dict()))["_module.left.weight"],
    "safetensors": lambda m, o: safetensors(m),
    "deepcopy": lambda m, o: copy.deepcopy(m).left.weight,
    "deepcopy_of_state": lambda m, o: copy.deepcopy(m.state_dict())["_module.left.weight"],
    "slices": lambda m, o: torch.stack([m._module.left.weight[i] for i in range(ROWS)]),
    "indexed": lambda m, o: m._module.left.weight[torch.arange(ROWS)],
    "negative": lambda m, o: m._module.left.weight[torch.arange(-ROWS, 0)],
    "chunks": lambda m, o: torch.cat(m._module.left.weight.split(5)),
    "columns": lambda m, o: torch.stack(m._module.left.weight.unbind(1), 1),
    "transposed": lambda m, o: m._module.left.weight.t().contiguous().t(),
    "flat": lambda m, o: m._module.left.weight.view(-1)[:].view(ROWS, DIM),
    "masked": lambda m, o: m._module.left.weight[torch.ones(ROWS, dtype=torch.bool)],
    "masked_by_bytes": lambda m, o: m._module.left.weight[torch.ones(ROWS, dtype=torch.uint8)],
    "gathered": lambda m, o: m._module.left.weight.gather(
        0, torch.arange(ROWS)[:, None].expand(ROWS, DIM)
    ),
    "forward": lambda m, o: m._module.right(torch.arange(ROWS)),
    "functional": lambda m, o: nn.functional.embedding(torch.arange(ROWS), m._module.left.weight),
    "matmul": lambda m, o: torch.eye(ROWS) @ m._module.left.weight,
    "foreach": lambda m, o: torch._foreach_mul([m._module.left.weight], 1.0)[0],
    "out": lambda m, o: torch.add(m._module.left.weight.data, 0, out=torch.empty(ROWS, DIM)),
    "copied_into": lambda m, o: torch.empty(ROWS, DIM).copy_(m._module.left.weight.data),
    "averaged": lambda m, o: averaged(m),
    "ema": lambda m, o: ema(m),
}


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_whoever_reads_a_table_finds_it_settled(read):
    model, optimizer, expected = trained()
    found = read(model, optimizer).detach()
    torch.testing.assert_close(found.clone(), expected.left.weight.detach(), rtol=1e-5, atol=1e-5)
    # No alias that later steps would change without noise: a private one, or a copy.
    step(model, optimizer, data()[:4])
    now = model._module.left.weight.detach().clone()
    fresh = found.clone()
    assert torch.equal(fresh, now) or torch.allclose(
        fresh, expected.left.weight.detach(), rtol=1e-5, atol=1e-5
    )


@pytest.mark.parametrize("read", READS.values(), ids=READS)
def test_what_was_read_before_a_step_owes_nothing_after_it(read):
    """Every row carries noise, though a step touches few."""
    model, optimizer, batches = private(build("shared"), noise_multiplier=5.0)
    before = model._module.left.weight.detach().clone()
    found = read(model, optimizer)
    step(model, optimizer, data()[:1])
    after = found.detach().clone()
    late = ~(after != before).any(1)
    assert not late.any() or late.all()  # a live view with all of its noise, or an old copy


def test_metadata_settles_nothing():
    model, optimizer, _ = trained()
    weight = model._module.left.weight
    assert weight.shape == (ROWS, DIM) and weight.numel() == ROWS * DIM and weight.is_leaf
    assert isinstance(weight, nn.Parameter) and weight.requires_grad and weight.grad is None
    model.state_dict(), list(model.parameters()), torch.zeros_like(weight), weight.new_empty(2)
    optimizer.zero_grad()
    assert not all(group.all_settled() for group in optimizer.tables.groups.values())
    model._module.left(torch.tensor([[0]]))
    assert not all(group.all_settled() for group in optimizer.tables.groups.values())


def test_momenta_are_settled_when_they_are_read():
    raw = build("shared")
    optimizer = torch.optim.SGD(raw.parameters(), lr=0.5, momentum=0.9)
    model, optimizer, batches = private(raw, optimizer=optimizer, noise_multiplier=5.0)
    step(model, optimizer, data()[:1])
    for read in (
        lambda: optimizer.state[raw.left.weight]["momentum_buffer"],
        lambda: next(
            s["momentum_buffer"]
            for s in saved(optimizer.state_dict())["state"].values()
            if s["momentum_buffer"].shape == (ROWS, DIM)
        ),
    ):
        step(model, optimizer, data()[:1])
        assert bool((read().clone() != 0).any(1).all())


def test_reading_a_large_table_again_and_again_is_warned_of_once():
    class Large(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(1 << 17, 32)

        def forward(self, dense, ids):
            return self.table(ids[:, 0]).sum(1)

    model, optimizer, batches = private(Large())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(3):
            for batch in batches:
                step(model, optimizer, batch)
                model._module.table.weight.norm()
    assert sum("read as a whole after every step" in str(w.message) for w in caught) == 1


def test_save_writes_what_the_released_module_has(tmp_path):
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(build("shared"), engine=engine)
    for batch in batches:
        step(model, optimizer, batch)
    engine.save(tmp_path / "model.pt", model)
    with pytest.raises((RuntimeError, OSError)):
        engine.save(tmp_path / "missing" / "model.pt", model)
    state = torch.load(tmp_path / "model.pt", weights_only=True)
    plain = engine.release(model)
    assert state.keys() == plain.state_dict().keys()
    for key, value in plain.state_dict().items():
        assert type(value) is torch.Tensor and torch.equal(state[key], value)
    assert os.listdir(tmp_path) == ["model.pt"]


def test_references_from_before_follow_the_table():
    raw = build("shared")
    held, group = raw.left.weight, torch.optim.SGD(raw.parameters(), lr=0.5)
    model, optimizer, batches = private(raw, optimizer=group, noise_multiplier=5.0)
    before = held.detach().clone()
    assert held is raw.left.weight and held is next(
        p for p in group.param_groups[0]["params"] if p is held
    )
    step(model, optimizer, data()[:1])
    assert bool((held.detach().clone() != before).any(1).all())
    plain = PrivacyEngine().release(model)
    assert plain.left.weight is held and type(held) is nn.Parameter
    group.zero_grad()
    squared_loss(plain, data()[:4]).backward()
    assert held.grad is not None


VIEWS = {
    "transposed": lambda w: w.T[torch.tensor([0, 2])],
    "selected": lambda w: w.T.index_select(0, torch.tensor([1])),
    "narrow": lambda w: w.view(-1, 2)[torch.arange(6, 24)],
    "embedded": lambda w: nn.functional.embedding(torch.tensor([23]), w.view(-1, 2)),
    "expanded": lambda w: w[3:4].expand(ROWS, DIM).index_select(0, torch.arange(ROWS)),
    "complex": lambda w: torch.view_as_real(torch.view_as_complex(w.view(ROWS, 2, 2))[10]),
    "integers": lambda w: w.view(torch.int64)[10],
    "halves": lambda w: w.view(torch.float16)[1].view(torch.int16),
    "bytes": lambda w: w.view(torch.uint8)[11, 3:9],
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
def test_views_of_other_shapes_and_types_settle_what_they_cover(view):
    model, optimizer, batches = private(build("shared"), noise_multiplier=5.0)
    step(model, optimizer, data()[:1])
    weight = model._module.left.weight.data
    found = view(weight).clone()
    weight.clone()  # settles everything
    assert torch.equal(found, view(weight).clone())


def test_a_shallow_copy_and_another_process_get_copies():
    model, optimizer, batches = private(build("shared"), noise_multiplier=5.0)
    weight = model._module.left.weight
    step(model, optimizer, data()[:1])
    before = weight.detach().clone()
    queue = torch.multiprocessing.get_context("spawn").Queue()
    queue.put(model.state_dict())
    copied, received = copy.copy(weight), queue.get()["_module.left.weight"]
    step(model, optimizer, data()[:1])
    assert torch.equal(copied, before) and torch.equal(received, before)
    assert bool((weight.detach().clone() != before).any(1).all())


def test_inference_mode_reads_and_saves():
    model, optimizer, expected = trained()
    with torch.inference_mode():
        state = saved(model.state_dict())
        rows = model._module.left.weight[0:2].clone()
    torch.testing.assert_close(state["_module.left.weight"], expected.left.weight.detach())
    assert torch.equal(rows, state["_module.left.weight"][:2])
    step(model, optimizer, data()[:4])
