"""A gradient is applied once, clipped as a whole, and never by a way that is not seen."""

import copy
import threading
import warnings

import pytest
import torch
from opacus.utils.batch_memory_manager import BatchMemoryManager
from torch import nn
from torch.nn.utils import prune
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader

from lazydp import PrivacyEngine, PrivacyError, UserError
from models import DIM, ROWS, Single, assert_same, build, data, loader, squared_loss
from reference import BruteForce
from training import Interrupted, private, reference, seeded, step


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
@pytest.mark.parametrize("apart", [None, 1e-3, 1e-4, 1e-6])
def test_no_example_moves_the_sum_by_more_than_the_bound(apart, scale, positions):
    """By difference, through the real products. The weights are zero: their rounding is not it."""
    g = torch.Generator().manual_seed(positions)
    x = torch.randn(6, positions, 12, generator=g)
    signs = torch.randn(6, positions, generator=g).sign()
    if apart is not None:  # pairs of positions that are nearly the same, with opposite signs
        signs[:, 1::2], signs[:, ::2] = -1.0, 1.0
        x[:, 1::2] = x[:, ::2] * (1 + apart * torch.randn(6, positions // 2, 12, generator=g))

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

    def __init__(self, *, reentrant, nested=False, norm=False, whole=False):
        super().__init__()
        self.reentrant, self.nested, self.whole = reentrant, nested, whole
        self.mid = nn.Sequential(nn.Linear(DIM, DIM), nn.Tanh(), nn.Linear(DIM, DIM))
        self.norm = nn.LayerNorm(DIM) if norm else nn.Identity()

    def again(self, part, *inputs):
        return checkpoint(part, *inputs, use_reentrant=self.reentrant)

    def forward(self, dense, ids):
        if not self.whole:
            return super().forward(dense, ids)
        # No layer is outside of a segment, and a segment needs an input with a gradient.
        dense = dense.clone().requires_grad_(True)
        one, two = (self.again(super(Checkpointed, self).forward, dense, ids) for _ in range(2))
        return one - 0.5 * two

    def inner(self, x):
        return self.again(self.mid, x) if self.nested else self.mid(x)

    def look_up(self, ids):
        x = self.table(ids[:, 0])
        x = self.again(self.inner, x) + self.again(
            lambda y: self.norm(self.table(ids[:, 1]) + y), x
        )
        return self.again(self.norm, x)


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("norm", [False, True])
@pytest.mark.parametrize("nested", [False, True])
@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpointed_segments_belong_to_their_pass(reentrant, nested, norm, whole):
    def make():
        torch.manual_seed(0)
        return Checkpointed(reentrant=reentrant, nested=nested, norm=norm, whole=whole)

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
        squared_loss(model, batch).backward()  # nobody clears anything
        optimizer.step()
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


def test_half_of_a_logical_batch_does_not_join_the_next_one():
    """A loop over physical batches that is left early."""
    model, optimizer, batches = private(
        build("shared"), noise_multiplier=0.0, batches=loader(12, 12)
    )
    expected, brute = reference("shared", sigma=0.0, expected_batch=12)
    with BatchMemoryManager(
        data_loader=batches, max_physical_batch_size=5, optimizer=optimizer
    ) as small:
        for batch in small:
            step(model, optimizer, batch)
            break
    whole = next(iter(batches))
    optimizer._step_skip_queue.clear()
    with pytest.raises(UserError, match="saw 16 examples"):
        step(model, optimizer, whole)
    step(model, optimizer, next(iter(batches)))
    brute.step(whole)
    assert_same(model, expected)


REPLACEMENTS = {
    "layer": lambda m: m.out.__setitem__(2, nn.Linear(5, 1)),
    "parameter": lambda m: setattr(m.out[2], "weight", nn.Parameter(torch.zeros(1, 5))),
    "pruned": lambda m: prune.l1_unstructured(m.out[2], "weight", 0.5),
    "added": lambda m: m.register_parameter("more", nn.Parameter(torch.zeros(1))),
}


@pytest.mark.parametrize("replace", REPLACEMENTS.values(), ids=REPLACEMENTS)
def test_layers_that_changed_since_make_private_are_refused(replace):
    model, optimizer, batches = private(build("shared"))
    replace(model._module)
    with pytest.raises(UserError, match="make_private|another way"):
        step(model, optimizer, next(iter(batches)))


@pytest.mark.parametrize("name", ["shared", "shared_norm"])
def test_an_input_that_is_written_to_before_the_step_is_refused(name):
    model, optimizer, batches = private(build(name))
    dense, ids, target = (x.clone() for x in data()[:4])
    layer = model._module.out[0]
    squared_loss(model, (dense, ids, target)).backward()
    kept = optimizer.captures._finished[0].calls
    inputs = next(c.inputs for calls in kept.values() for c in calls if c.name == "out.0")
    (inputs[0] if isinstance(inputs, list) else inputs).zero_()
    with pytest.raises(UserError, match="changed in place"):
        optimizer.step()
    assert layer is model._module.out[0]


def test_the_original_optimizer_is_free_after_release():
    raw = build("shared")
    original = torch.optim.SGD(raw.parameters(), lr=0.5)
    model, optimizer, batches = private(raw, optimizer=original)
    step(model, optimizer, next(iter(batches)))
    plain = PrivacyEngine().release(model)
    original.zero_grad()
    squared_loss(plain, data()[:4]).backward()
    original.step()
    again, optimizer, batches = private(plain, optimizer=original)
    step(again, optimizer, next(iter(batches)))


def test_an_evaluation_in_another_thread_leaves_a_pass_alone():
    model, optimizer, batches = private(build("shared"), noise_multiplier=0.0)
    expected, brute = reference("shared", sigma=0.0)
    batch = next(iter(batches))

    def evaluate(gradient):
        def read():
            with torch.no_grad():
                model(*data(seed=3)[:4][:2])

        thread = threading.Thread(target=read)
        thread.start()
        thread.join()

    hidden = model._module.out[0].register_full_backward_hook(lambda *_: evaluate(None))
    step(model, optimizer, batch)
    hidden.remove()
    brute.step(batch)
    assert_same(model, expected)
