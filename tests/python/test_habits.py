"""What PyTorch users do by habit: it works, is refused in clear words, or voids the claim."""

import copy
import io
import os
import pickle
import warnings

import pytest
import torch
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch import nn
from torch.nn.utils import parameters_to_vector, vector_to_parameters
from torch.optim.swa_utils import AveragedModel
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, TensorDataset

from lazydp import PrivacyEngine, PrivacyError, UserError
from models import DIM, ROWS, Single, assert_same, build, data, loader, squared_loss
from reference import BruteForce
from training import private, reference, seeded, step

# A gradient applied twice, too large, or never.


def no_zeroing(model, optimizer):
    """Gradients are never cleared."""


ZEROING = {
    "none": no_zeroing,
    "model": lambda model, optimizer: model.zero_grad(),
    "inner": lambda model, optimizer: model._module.zero_grad(),
    "to_none": lambda model, optimizer: optimizer.zero_grad(set_to_none=True),
    "original": lambda model, optimizer: optimizer.original_optimizer.zero_grad(),
    "by_hand": lambda model, optimizer: [setattr(p, "grad", None) for p in model.parameters()],
}


@pytest.mark.parametrize("mode", ["hooks", "ghost"])
@pytest.mark.parametrize("zero", ZEROING.values(), ids=ZEROING)
@pytest.mark.parametrize("name", ["shared", "shared_norm", "layered_norm"])
def test_a_gradient_is_applied_once_whoever_clears_it(name, zero, mode):
    made = private(build(name), noise_multiplier=0.0, grad_sample_mode=mode, criterion=nn.MSELoss())
    model, optimizer, batches = made[0], made[1], made[-1]
    expected, brute = reference(name, sigma=0.0)
    for batch in batches:
        zero(model, optimizer)
        criterion = made[2] if mode == "ghost" else nn.MSELoss()
        criterion(model(*batch[:2]), batch[2]).backward()
        optimizer.step()
        brute.step(batch)
    assert_same(model, expected, 5e-5)


def test_clearing_between_backward_and_step_drops_the_pass():
    for clear in ("optimizer", "model"):
        model, optimizer, batches = private(build("shared_norm"), noise_multiplier=0.0)
        expected, brute = reference("shared_norm", sigma=0.0)
        first, second, _ = batches
        squared_loss(model, first).backward()
        (optimizer if clear == "optimizer" else model).zero_grad()
        step(model, optimizer, second)
        brute.step(second)
        assert_same(model, expected)


def test_the_original_optimizer_may_not_step_by_itself():
    raw = build("shared_norm")
    original = torch.optim.SGD(raw.parameters(), lr=0.5)
    model, optimizer, batches = private(raw, optimizer=original)
    before = copy.deepcopy(model)
    squared_loss(model, next(iter(batches))).backward()
    with pytest.raises(PrivacyError, match="the one that make_private returned"):
        original.step()
    assert_same(model, before, 0)


class Positions(nn.Module):
    """One linear layer at many positions, and a table beside it."""

    def __init__(self, features, width):
        super().__init__()
        self.each = nn.Linear(features, width)
        self.table = nn.Embedding(4, width)

    def forward(self, x, signs):
        return (self.each(x) * signs[..., None]).sum((1, 2)) + self.table(signs[:, 0].long() * 0)[
            :, 0
        ]


def moved_by_one(make, batch, bound, one):
    """How far one example moves the clipped sum, in double precision, relative to the bound."""
    sums = []
    for keep in (slice(None), torch.arange(len(batch[0])) != one):
        torch.manual_seed(0)
        raw = make()
        before = [p.detach().double().clone() for p in raw.parameters()]
        model, optimizer, _ = private(
            raw,
            optimizer=torch.optim.SGD(raw.parameters(), lr=1.0),
            noise_multiplier=0.0,
            max_grad_norm=bound,
            loss_reduction="sum",
        )
        inputs = [t[keep] for t in batch]
        model(*inputs).sum().backward()
        optimizer.step()
        sums.append(
            [b - p.detach().double() for b, p in zip(before, raw.parameters(), strict=True)]
        )
    difference = sum(((a - b) ** 2).sum() for a, b in zip(*sums, strict=True)).sqrt()
    return float(difference) / bound


@pytest.mark.parametrize("positions", [2, 8, 40])
@pytest.mark.parametrize("scale", [1.0, 300.0, 3e4, 1e6])
@pytest.mark.parametrize("kind", ["random", "cancelling"])
def test_no_example_moves_the_sum_by_more_than_the_bound(kind, scale, positions):
    """By difference, through the real products. The weights are zero: their rounding is not it."""
    g = torch.Generator().manual_seed(positions)
    x = torch.randn(6, positions, 12, generator=g)
    signs = torch.randn(6, positions, generator=g).sign()
    if kind == "cancelling":  # pairs of positions that are nearly the same, with opposite signs
        signs[:, 1::2], signs[:, ::2] = -1.0, 1.0
        x[:, 1::2] = x[:, ::2] * (1 + 1e-6 * torch.randn(6, positions // 2, 12, generator=g))

    def make():
        model = Positions(12, 7)
        for p in model.parameters():
            nn.init.zeros_(p)
        return model

    for one in range(3):
        assert moved_by_one(make, (x * scale, signs), 0.5, one) <= 1 + 1e-5


class Towers(nn.Module):
    """A table that is looked up by two towers whose gradients nearly cancel."""

    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(3, 6)
        self.bags = nn.EmbeddingBag(3, 6, mode="sum")

    def forward(self, ids, left, right, weights):
        a, b = self.table(ids[:, 0]), self.table(ids[:, 1])
        c = self.bags(ids, per_sample_weights=weights)
        return (a * left - b * right).sum(1) + (c * left).sum(1)


@pytest.mark.parametrize("scale", [1.0, 300.0, 1e6])
def test_no_example_moves_a_table_by_more_than_the_bound(scale):
    g = torch.Generator().manual_seed(1)
    ids = torch.zeros(6, 2, dtype=torch.int64)
    left = torch.randn(6, 6, generator=g) * scale
    right = left * (1 + 1e-6 * torch.randn(6, 6, generator=g))
    weights = torch.tensor([[1e4, -1e4 + 0.01]]).repeat(6, 1)

    def make():
        model = Towers()
        for p in model.parameters():
            nn.init.zeros_(p)
        return model

    for one in range(3):
        assert moved_by_one(make, (ids, left, right, weights), 0.5, one) <= 1 + 1e-5


def test_norms_of_many_positions_take_little_memory():
    raw = Positions(24, 16)
    model, optimizer, _ = private(raw, loss_reduction="sum")
    signs = torch.ones(1, 20_000)  # pairs of positions would take 6.4 GB
    model(torch.randn(1, 20_000, 24), signs).sum().backward()
    optimizer.step()


class Checkpointed(Single):
    """Parts of the model are computed again in backward()."""

    def __init__(self, *, reentrant, nested=False, norm=False):
        super().__init__()
        self.reentrant, self.nested = reentrant, nested
        self.mid = nn.Sequential(nn.Linear(DIM, DIM), nn.Tanh(), nn.Linear(DIM, DIM))
        self.norm = nn.LayerNorm(DIM) if norm else nn.Identity()

    def again(self, part, *inputs):
        return checkpoint(part, *inputs, use_reentrant=self.reentrant)

    def inner(self, x):
        return self.again(self.mid, x) if self.nested else self.mid(x)

    def look_up(self, ids):
        x = self.table(ids[:, 0])
        x = self.again(self.inner, x) + self.again(
            lambda y: self.norm(self.table(ids[:, 1]) + y), x
        )
        return self.again(self.norm, x)


@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointed_segments_belong_to_their_pass(reentrant, nested, norm):
    def make():
        torch.manual_seed(0)
        return Checkpointed(reentrant=reentrant, nested=nested, norm=norm)

    raw, expected = make(), make()
    model, optimizer, batches = private(raw, noise_multiplier=0.0)
    brute = BruteForce(
        expected,
        torch.optim.SGD(expected.parameters(), lr=0.5),
        squared_loss,
        sigma=0.0,
        bound=1.3,
        expected_batch=4,
    )
    for batch in batches:
        step(model, optimizer, batch)
        assert optimizer.accumulated_iterations == 1
        brute.step(batch)
    assert_same(model, expected, 5e-5)


class Flat(nn.Module):
    """Every layer is given look-ups instead of examples."""

    def __init__(self, linear):
        super().__init__()
        self.table = nn.Embedding(ROWS, DIM)
        self.each = nn.Linear(DIM, DIM) if linear else nn.Identity()

    def forward(self, dense, ids):
        return self.each(self.table(ids.reshape(-1))).view(len(ids), -1).sum(1)


@pytest.mark.parametrize("poisson", [False, True])
@pytest.mark.parametrize("linear", [False, True])
def test_flattened_ids_are_refused(linear, poisson):
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(Flat(linear), engine=engine, poisson_sampling=poisson)
    before = copy.deepcopy(model)
    batch = next(b for b in batches if len(b[0]))
    with pytest.raises(UserError, match=rf"saw {4 * len(batch[0])} examples, and the loader drew"):
        step(model, optimizer, batch)
    assert len(engine.accountant) == 0
    assert_same(model, before, 0)


@pytest.mark.parametrize("workers", [0, 2])
@pytest.mark.parametrize("settle", ["on_read", "ahead"])
def test_batches_of_the_loader_are_told_from_others(settle, workers):
    batches = DataLoader(data(40), batch_size=5, num_workers=workers)
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, loaded = private(
        build("shared"), engine=engine, poisson_sampling=True, batches=batches, settle=settle
    )
    for epoch in range(3):
        for number, batch in enumerate(loaded):
            if number == 6 and epoch == 0:
                break  # an epoch that is left early
            if len(batch[0]) == 0 and epoch == 1:
                continue  # as many loops do
            step(model, optimizer, batch)
    with BatchMemoryManager(
        data_loader=loaded, max_physical_batch_size=2, optimizer=optimizer
    ) as small:
        for batch in small:
            step(model, optimizer, batch)
    assert engine.get_epsilon(1e-5) < float("inf")


class Interrupted(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x.view_as(x)

    @staticmethod
    def backward(ctx, gradient):
        raise KeyboardInterrupt


@pytest.mark.parametrize("name", ["shared", "shared_norm", "layered_norm"])
def test_training_goes_on_after_an_interrupted_backward(name):
    model, optimizer, batches = private(build(name), noise_multiplier=0.0)
    expected, brute = reference(name, sigma=0.0)
    for number, batch in enumerate([*batches, *batches]):
        if number % 2 == 0:
            handle = model._module.out[-1].register_forward_pre_hook(
                lambda _, inputs: Interrupted.apply(inputs[0])
            )
            with pytest.raises(KeyboardInterrupt):
                squared_loss(model, batch).backward()
            handle.remove()
            if number == 2:  # and one who steps all the same
                with pytest.raises(UserError, match="did not reach its end"):
                    optimizer.step()
        step(model, optimizer, batch)
        brute.step(batch)
    assert_same(model, expected)


def test_a_forward_without_backward_leaves_nothing_behind():
    model, optimizer, batches = private(build("shared_norm"), noise_multiplier=0.0)
    expected, brute = reference("shared_norm", sigma=0.0)
    for batch in batches:
        first = squared_loss(model, batch)
        squared_loss(model, data(seed=7)[:3])  # a metric, in training mode, with gradients on
        optimizer.zero_grad()
        first.backward()
        optimizer.step()
        brute.step(batch)
    assert_same(model, expected)


def test_two_losses_of_one_forward_are_two_passes():
    model, optimizer, batches = private(build("shared"), poisson_sampling=True)
    out = model(*data()[:4][:2])
    out.square().mean().backward(retain_graph=True)
    with pytest.raises(ValueError, match="not compatible with grad accumulation"):
        out.mean().backward()


def test_parameters_outside_the_optimizer_are_refused():
    model = build("bag_sum")
    with pytest.raises(UserError, match=r"'out\.0\.weight' requires a gradient but is in no"):
        private(model, optimizer=torch.optim.SGD([model.table.weight], lr=0.1))
    dense = [p for p in model.parameters() if p is not model.table.weight]
    with pytest.raises(UserError, match="table 'table' requires a gradient but is in no"):
        private(model, optimizer=torch.optim.SGD(dense, lr=0.1))
    assert type(model.table) is nn.EmbeddingBag


def apply_in_backward(p):
    from torch.distributed.optim import _apply_optimizer_in_backward

    _apply_optimizer_in_backward(torch.optim.SGD, [p], {"lr": 0.1})


IN_BACKWARD = {
    "hook": lambda p: p.register_post_accumulate_grad_hook(lambda p: p.data.sub_(p.grad)),
    "apply_optimizer_in_backward": apply_in_backward,
}


@pytest.mark.parametrize("which", ["table.weight", "out.0.weight"])
@pytest.mark.parametrize("fuse", IN_BACKWARD.values(), ids=IN_BACKWARD)
def test_updates_inside_of_backward_are_refused(fuse, which):
    model = build("bag_sum")
    fuse(model.get_parameter(which))
    with pytest.raises(UserError, match="inside of backward"):
        private(model)


def test_gradient_hooks_are_refused():
    model = build("bag_sum")
    model.out[0].weight.register_hook(lambda g: 2 * g)
    with pytest.raises(UserError, match="has a gradient hook"):
        private(model)


AROUND = {
    "linear": ("shared_norm", lambda m, x: nn.functional.linear(x, m.out[1].weight[:, :3])),
    "norm": ("shared_norm", lambda m, x: m.out[0].weight[:3] * x),
    "table": (
        "shared_norm",
        lambda m, x: nn.functional.embedding(x[:, 0].long() * 0, m.left.weight),
    ),
    "regulariser": ("shared_norm", lambda m, x: m.left.weight.square()),
    "dense_regulariser": ("shared_norm", lambda m, x: m.out[1].weight.square()),
    "functional_bag": (
        "bag_sum",
        lambda m, x: nn.functional.embedding_bag(x[:, :1].long() * 0, m.table.weight, mode="sum"),
    ),
}


@pytest.mark.parametrize(("name", "around"), AROUND.values(), ids=AROUND)
def test_gradients_that_go_around_a_layer_are_refused(name, around):
    model, optimizer, batches = private(build(name))
    batch = next(iter(batches))
    with pytest.raises(UserError, match="by another way than"):
        (squared_loss(model, batch) + around(model._module, batch[0]).sum()).backward()
    step(model, optimizer, batch)  # and one who goes on, goes on privately


def test_a_parameter_beside_layers_is_refused():
    class Biased(Single):
        def __init__(self):
            super().__init__()
            self.offset = nn.Parameter(torch.zeros(1))

        def forward(self, dense, ids):
            return super().forward(dense, ids) + self.offset

    with pytest.raises(UserError, match="parameter 'offset' belongs to 'Biased'"):
        private(Biased())


def test_a_module_with_a_parameter_of_its_own_trains():
    class Offset(nn.Module):
        def __init__(self):
            super().__init__()
            self.offset = nn.Parameter(torch.zeros(DIM))

        def forward(self, x):
            return x + self.offset

    class Biased(Single):
        def __init__(self):
            super().__init__()
            self.bias = Offset()

        def look_up(self, ids):
            return self.bias(super().look_up(ids))

    torch.manual_seed(0)
    raw = Biased()
    model, optimizer, batches = private(raw, noise_multiplier=0.0)
    step(model, optimizer, next(iter(batches)))
    assert raw.bias.offset.abs().sum() > 0


def test_training_in_eval_mode_learns():
    for mode in (lambda m: m.eval(), lambda m: m._module.left.eval(), lambda m: m.out.eval()):
        model, optimizer, batches = private(build("shared_norm"), noise_multiplier=0.0)
        expected, brute = reference("shared_norm", sigma=0.0)
        mode(model)
        for batch in batches:
            step(model, optimizer, batch)
            brute.step(batch)
        assert_same(model, expected)


def test_a_step_without_a_gradient_is_refused():
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(build("shared_norm"), engine=engine)
    before = copy.deepcopy(model)
    with torch.no_grad():
        squared_loss(model, next(iter(batches)))
    with pytest.raises(UserError, match="no gradient reached"):
        optimizer.step()
    assert len(engine.accountant) == 0
    assert_same(model, before, 0)


@pytest.mark.parametrize("noise", ["lazy", "lazy_each_step", "every_row"])
@pytest.mark.parametrize("momentum", [0.0, 0.9])
def test_a_table_that_is_frozen_stops_and_thaws(noise, momentum):
    raw = build("shared")
    optimizer = torch.optim.SGD(raw.parameters(), lr=0.5, momentum=momentum)
    model, optimizer, batches = private(raw, optimizer=optimizer, noise=noise)
    one, two, three = batches
    step(model, optimizer, one)
    raw.left.weight.requires_grad_(False)
    step(model, optimizer, two)
    frozen = raw.left.weight.clone()
    step(model, optimizer, three)
    assert torch.equal(raw.left.weight, frozen)
    raw.left.weight.requires_grad_(True)
    assert torch.equal(raw.left.weight, frozen)
    step(model, optimizer, one)
    assert bool((raw.left.weight != frozen).any(1).all())  # every row, by noise


def test_a_frozen_table_owes_the_noise_of_the_steps_it_took():
    model, optimizer, batches = private(build("shared"), noise="lazy_each_step", **seeded())
    expected, brute = reference("shared")
    one, two, _ = batches
    step(model, optimizer, one)
    brute.step(one)
    model._module.left.weight.requires_grad_(False)
    step(model, optimizer, two)
    torch.testing.assert_close(
        model._module.left.weight.detach(), expected.left.weight.detach(), rtol=1e-5, atol=1e-5
    )


def test_a_layer_that_becomes_trainable_later_is_refused():
    raw = build("shared_norm")
    raw.other.weight.requires_grad_(False)
    raw.out[0].weight.requires_grad_(False)
    model, optimizer, batches = private(raw)
    for late in (raw.other.weight, raw.out[0].weight):
        late.requires_grad_(True)
        with pytest.raises(UserError, match="became trainable after make_private"):
            step(model, optimizer, next(iter(batches)))
        late.requires_grad_(False)
        late.grad = None
    step(model, optimizer, next(iter(batches)))


def test_parameters_of_a_linear_layer_may_freeze_and_thaw():
    raw, (expected, brute) = build("shared"), reference("shared", sigma=0.0)
    for model in (raw, expected):
        model.out[0].bias.requires_grad_(False)
    model, optimizer, batches = private(raw, noise_multiplier=0.0)
    for batch, (bias, weight) in zip(batches, [(0, 1), (1, 0), (1, 1)], strict=True):
        for one in (raw, expected):
            one.out[0].bias.requires_grad_(bool(bias))
            one.out[0].weight.requires_grad_(bool(weight))
        step(model, optimizer, batch)
        brute.optimizer.zero_grad()
        brute.step(batch)
    assert_same(model, expected)


def test_another_weight_is_refused():
    model, optimizer, batches = private(build("shared"))
    with pytest.raises(UserError, match="can't be replaced"):
        model._module.left.weight = nn.Parameter(torch.zeros(ROWS, DIM))
    held = model._module.left._parameters["weight"]
    model._module.left._parameters["weight"] = nn.Parameter(torch.zeros(ROWS, DIM))
    with pytest.raises(UserError, match="was replaced"):
        step(model, optimizer, next(iter(batches)))
    model._module.left._parameters["weight"] = held
    zeros = {"left.weight": torch.zeros(ROWS, DIM)}
    with pytest.raises(UserError, match="was replaced|can't be replaced"):
        torch.func.functional_call(model._module, zeros, tuple(data()[:4][:2]))
    step(model, optimizer, next(iter(batches)))


def test_losses_that_are_not_finite_are_warned_of_once():
    model, optimizer, batches = private(build("shared"))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for dense, ids, target in batches:
            step(model, optimizer, (dense * float("nan"), ids, target))
    assert sum("noise alone" in str(w.message) for w in caught) == 1


# Tables seen without their noise. Eager noise is the oracle: the same cells, never late.


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


# An epsilon that is not true.


def claims_nothing(engine, words):
    for ask in (engine.get_epsilon, engine.accountant.get_epsilon):
        with pytest.warns(UserWarning, match=words):
            assert ask(1e-5) == float("inf")


def test_fixed_batches_claim_nothing():
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(build("shared"), engine=engine)
    step(model, optimizer, next(iter(batches)))
    claims_nothing(engine, "poisson_sampling=False")


def test_the_old_loader_claims_nothing():
    engine = PrivacyEngine(accountant="rdp")
    old = loader()
    model, optimizer, batches = private(
        build("shared"), engine=engine, poisson_sampling=True, batches=old
    )
    for batch in batches:
        step(model, optimizer, batch)
    assert engine.get_epsilon(1e-5) < float("inf")
    for batch in old:
        step(model, optimizer, batch)
    claims_nothing(engine, "did not come from the loader")


@pytest.mark.parametrize("accountant", ["rdp", "prv", "gdp"])
def test_a_checkpoint_of_a_run_that_claims_nothing_claims_nothing(accountant):
    engine = PrivacyEngine(accountant=accountant)
    model, optimizer, batches = private(build("shared"), engine=engine)
    step(model, optimizer, next(iter(batches)))
    file = io.BytesIO()
    engine.save_checkpoint(path=file, module=model, optimizer=optimizer)
    file.seek(0)
    other = PrivacyEngine(accountant=accountant)
    twin, twin_optimizer, loaded = private(build("shared"), engine=other, poisson_sampling=True)
    other.load_checkpoint(path=file, module=twin, optimizer=twin_optimizer)
    claims_nothing(other, "poisson_sampling=False")


def test_going_back_to_a_checkpoint_does_not_take_steps_back():
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(build("shared"), engine=engine, poisson_sampling=True)
    for batch in batches:
        step(model, optimizer, batch)
    file = io.BytesIO()
    engine.save_checkpoint(path=file, module=model, optimizer=optimizer)
    spent_then = engine.get_epsilon(1e-5)
    for batch in batches:
        step(model, optimizer, batch)
    spent = engine.get_epsilon(1e-5)
    file.seek(0)
    engine.load_checkpoint(path=file, module=model, optimizer=optimizer)
    assert engine.get_epsilon(1e-5) == spent > spent_then
    fresh = PrivacyEngine(accountant="rdp")
    twin, twin_optimizer, _ = private(build("shared"), engine=fresh, poisson_sampling=True)
    file.seek(0)
    fresh.load_checkpoint(path=file, module=twin, optimizer=twin_optimizer)
    assert fresh.get_epsilon(1e-5) == spent_then


def drawn(seed, **options):
    torch.manual_seed(seed)
    batches = DataLoader(TensorDataset(torch.arange(200)), batch_size=20, **options)
    raw = nn.Sequential(nn.Embedding(200, 2), nn.Flatten())
    _, _, loaded = private(raw, batches=batches, poisson_sampling=True)
    torch.manual_seed(seed)
    return [batch[0].tolist() for batch in loaded]


def test_samples_do_not_repeat_under_a_seed():
    assert drawn(3) != drawn(3)
    a, b = (drawn(3, generator=torch.Generator().manual_seed(1)) for _ in range(2))
    assert a == b  # asked for: and nothing is claimed


def test_a_generator_of_the_loader_claims_nothing():
    engine = PrivacyEngine(accountant="rdp")
    batches = DataLoader(data(), batch_size=4, generator=torch.Generator())
    model, optimizer, loaded = private(
        build("shared"), engine=engine, batches=batches, poisson_sampling=True
    )
    for batch in loaded:
        step(model, optimizer, batch)
    claims_nothing(engine, "the loader's generator")


# Clear words.


@pytest.mark.parametrize("name", ["shared", "shared_norm", "layered_norm", "twice"])
def test_autocast_trains(name):
    model, optimizer, batches = private(build(name), noise_multiplier=0.0)
    expected, brute = reference(name, sigma=0.0)
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.bfloat16):
            loss = squared_loss(model, batch)
        loss.backward()
        optimizer.step()
        brute.step(batch)
    assert_same(model, expected, 0.05)  # bfloat16 has three digits
    assert all(p.dtype == torch.float32 for p in model.parameters())


@pytest.mark.parametrize("how", ["weight_norm", "parametrization"])
def test_a_table_with_a_computed_weight_is_refused(how):
    model = build("single")
    if how == "weight_norm":
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            nn.utils.weight_norm(model.table)
    else:
        nn.utils.parametrizations.weight_norm(model.table)
    with pytest.raises(UserError, match="computed from other parameters"):
        private(model)


def test_what_is_private_already_is_refused():
    model, optimizer, _ = private(build("shared"))
    with pytest.raises(UserError, match="private already"):
        private(model)
    with pytest.raises(UserError, match="table 'left' is private already"):
        private(model._module)


def test_a_released_model_does_not_step():
    engine = PrivacyEngine(accountant="rdp")
    model, optimizer, batches = private(build("shared"), engine=engine)
    batch = next(iter(batches))
    step(model, optimizer, batch)
    kept = model.state_dict()
    plain = engine.release(model)
    squared_loss(plain, batch).backward()
    with pytest.raises(PrivacyError, match="was released"):
        optimizer.step()
    assert torch.equal(kept["_module.left.weight"].clone(), plain.left.weight.detach())


def test_export_of_a_private_model_says_what_to_do():
    model, optimizer, batches = private(build("shared"))
    step(model, optimizer, next(iter(batches)))
    inputs = tuple(data()[:4][:2])
    with pytest.raises(UserError, match="release"):
        torch.export.export(model._module, inputs)
    plain = PrivacyEngine().release(model)
    exported = torch.export.export(plain, inputs).module()
    torch.testing.assert_close(exported(*inputs), plain(*inputs))


def test_a_graph_from_before_make_private_can_not_be_used():
    raw = build("shared")
    loss = squared_loss(raw, data()[:4])
    model, optimizer, batches = private(raw)
    with pytest.raises((RuntimeError, UserError)):
        loss.backward()
    step(model, optimizer, next(iter(batches)))


def test_a_signal_during_a_step_does_not_apply_a_gradient_twice():
    model, optimizer, batches = private(build("shared"), noise_multiplier=0.0)
    batch = next(iter(batches))
    squared_loss(model, batch).backward()
    optimizer.tables.exchange.synchronise = lambda tables: (_ for _ in ()).throw(KeyboardInterrupt)
    with pytest.raises(KeyboardInterrupt):
        optimizer.step()
    del optimizer.tables.exchange.synchronise
    assert all(not table.pending for table in optimizer.tables.all)
