"""Tables as PyTorch shows them: settled for whoever reads, and right for whoever writes.

Eager noise is the oracle: the same cells, never late.
"""

import copy
import io
import os
import pickle
import signal
import warnings

import pytest
import torch
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.optim.swa_utils import AveragedModel
from torch.utils.data import DataLoader

from lazydp import PrivacyEngine, UserError
from models import DIM, ROWS, assert_same, build, data, squared_loss
from training import private, reference, seeded, step


def trained(name="shared", steps=1, **options):
    model, optimizer, batches = private(build(name), noise="lazy_each_step", **seeded(), **options)
    expected, brute = reference(name)
    for batch, _ in zip(batches, range(steps), strict=False):
        step(model, optimizer, batch)
        brute.step(batch)
    return model, optimizer, expected


def saved(thing):
    file = io.BytesIO()
    torch.save(thing, file)
    file.seek(0)
    return torch.load(file, weights_only=True)


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


WRITES = {
    "load_state_dict": lambda m, new: m.load_state_dict(
        {k: new if "left" in k or "right" in k else v for k, v in m.state_dict().items()}
    ),
    "data": lambda m, new: setattr(m._module.left.weight, "data", new),
    "copy": lambda m, new: m._module.left.weight.data.copy_(new),
    "rows": lambda m, new: [m._module.left.weight.data[i].copy_(new[i]) for i in range(ROWS)],
    "assigned": lambda m, new: m._module.left.weight.data.__setitem__(slice(None), new),
    "init": lambda m, new: nn.init.zeros_(m._module.left.weight).data.add_(new),
    "vector": lambda m, new: vector_to_parameters(new.flatten(), [m._module.left.weight]),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES)
def test_what_is_written_is_there_and_owes_nothing(write):
    model, optimizer, batches = private(build("shared"))
    for batch in batches:
        step(model, optimizer, batch)
    new = torch.randn(ROWS, DIM)
    write(model, new)
    assert torch.equal(model._module.left.weight.detach().clone(), new)
    assert torch.equal(model._module.right(torch.arange(ROWS)).detach(), new)


@pytest.mark.parametrize("spoil", ["shape", "missing", "unexpected"])
def test_a_load_that_fails_changes_nothing(spoil):
    model, optimizer, expected = trained(steps=2)
    state = {k: torch.zeros_like(v) for k, v in model.state_dict().items()}
    if spoil == "shape":
        state["_module.right.weight"] = torch.zeros(ROWS + 1, DIM)
    elif spoil == "missing":
        del state["_module.out.0.bias"]
    else:
        state["_module.another"] = torch.zeros(1)
    with pytest.raises(RuntimeError, match="Error.s. in loading state_dict"):
        model.load_state_dict(state)
    assert_same(model, expected)
    model.load_state_dict(model.state_dict())  # itself
    assert_same(model, expected)


def test_loading_weights_leaves_momenta_right_and_the_other_way_round():
    def make():
        raw = build("shared")
        optimizer = torch.optim.SGD(raw.parameters(), lr=0.2, momentum=0.9)
        return private(raw, optimizer=optimizer, noise="lazy_each_step", **seeded())

    model, optimizer, batches = make()
    expected, brute = reference("shared")
    brute.optimizer = torch.optim.SGD(expected.parameters(), lr=0.2, momentum=0.9)
    for number, batch in enumerate([*batches, *batches]):
        step(model, optimizer, batch)
        brute.step(batch)
        if number == 1:  # momenta are behind: few rows were read
            kept = {k: v.clone() for k, v in expected.state_dict().items()}
            model.load_state_dict({f"_module.{k}": v for k, v in kept.items()})
        if number == 3:
            optimizer.load_state_dict(saved(brute.optimizer.state_dict()))
    assert_same(model, expected, 5e-5)


def test_momenta_of_another_shape_are_refused_and_change_nothing():
    raw = build("shared")
    optimizer = torch.optim.SGD(raw.parameters(), lr=0.2, momentum=0.9)
    model, optimizer, batches = private(raw, optimizer=optimizer)
    step(model, optimizer, next(iter(batches)))
    state = saved(optimizer.state_dict())
    for one in state["state"].values():
        one["momentum_buffer"] = one["momentum_buffer"][:1]
    before = optimizer.state[raw.left.weight]["momentum_buffer"].clone()
    with pytest.raises(UserError, match="has shape"):
        optimizer.load_state_dict(state)
    assert torch.equal(optimizer.state[raw.left.weight]["momentum_buffer"].clone(), before)


def in_child(work):
    """What `work` raises in a forked process."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        signal.alarm(20)  # where it is not refused, it may wait for threads that were not forked
        try:
            work()
            os.write(writing, b"nothing")
        except BaseException as e:
            os.write(writing, f"{type(e).__name__}: {e}".encode())
        os._exit(0)
    os.close(writing)
    said = os.read(reading, 10_000).decode()
    os.close(reading)
    os.waitpid(child, 0)
    return said


def test_a_forked_process_can_neither_read_nor_step():
    model, optimizer, batches = private(build("shared"), poisson_sampling=True)
    batch = data()[:4]
    step(model, optimizer, batch)
    weight = model._module.left.weight
    for work in (
        lambda: model(*batch[:2]),
        lambda: weight.clone(),
        lambda: pickle.dumps(model.state_dict()),
        lambda: optimizer.step(),
        lambda: PrivacyEngine().release(model),
        lambda: next(iter(batches)),
    ):
        assert in_child(work).startswith("PrivacyError")
    assert in_child(lambda: weight.shape) == "nothing"
    step(model, optimizer, batch)


def test_workers_of_a_loader_go_on():
    batches = DataLoader(data(40), batch_size=5, num_workers=2, persistent_workers=True)
    model, optimizer, loaded = private(build("shared"), poisson_sampling=True, batches=batches)
    for _ in range(2):
        for batch in loaded:
            step(model, optimizer, batch)


@pytest.mark.parametrize("momentum", [0.0, 0.9])
@pytest.mark.parametrize("noise", ["lazy", "lazy_each_step"])
def test_settling_ahead_leaves_the_padding_row_alone(noise, momentum):
    raw = build("sequence_padding")
    optimizer = torch.optim.SGD(raw.parameters(), lr=0.5, momentum=momentum)
    before = raw.table.weight[1].detach().clone()
    model, optimizer, batches = private(raw, optimizer=optimizer, settle="ahead", noise=noise)
    for _ in range(3):
        for batch in batches:
            step(model, optimizer, batch)
            assert torch.equal(optimizer.tables.all[0].memory[1], before)
    assert torch.equal(raw.table.weight[1].detach(), before)


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


def test_a_move_that_is_refused_moves_nothing():
    model, _, _ = private(build("shared"))
    for move in (lambda: model.double(), lambda: model.half(), lambda: model.to("meta")):
        with pytest.raises(UserError, match="must stay"):
            move()
        assert all(p.dtype == torch.float32 and not p.is_meta for p in model.parameters())


def test_assign_and_things_that_are_no_tensors_are_refused_before_anything_changes():
    model, optimizer, expected = trained()
    held = list(model.parameters())
    zeros = {k: torch.zeros_like(v) for k, v in model.state_dict().items()}
    with pytest.raises(UserError, match="assign"):
        model.load_state_dict(zeros, assign=True)
    with pytest.raises(RuntimeError, match="not a tensor"):
        model.load_state_dict(zeros | {"_module.out.0.bias": zeros["_module.out.0.bias"].numpy()})
    assert all(a is b for a, b in zip(held, model.parameters(), strict=True))
    assert_same(model, expected)
