"""lazydp against Opacus without noise, and against brute force with the same noise cells."""

import copy
import warnings

import opacus
import pytest
import torch

from lazydp import PrivacyEngine, sgd_group
from models import MODELS, assert_same, build, loader, squared_loss
from reference import BruteForce
from training import ADAPTIVE

BOUND = 1.3


def make_private(model, optimizer, engine=PrivacyEngine, **options):
    chosen = {"noise_multiplier": 0.0, "max_grad_norm": BOUND, "poisson_sampling": False} | options
    return engine(accountant="rdp").make_private(
        module=model, optimizer=optimizer, data_loader=loader(), **chosen
    )


def train(model, optimizer, batches, epochs=2, after_step=None):
    for _ in range(epochs):
        for batch in batches:
            optimizer.zero_grad()
            squared_loss(model, batch).backward()
            optimizer.step()
            if after_step is not None:
                after_step()


def sgd(model, **options):
    return torch.optim.SGD(model.parameters(), **({"lr": 0.5} | options))


def against_brute_force(name, make_optimizer, *, noise="lazy_each_step", schedule=None, seed=5):
    """Train both; return the two models."""
    ours, theirs = build(name), build(name)
    optimizer = make_optimizer(ours)
    reference = BruteForce(
        theirs,
        make_optimizer(theirs),
        squared_loss,
        sigma=0.7,
        bound=BOUND,
        expected_batch=4,
        seed=seed,
    )
    generator = torch.Generator().manual_seed(seed)
    private, optimizer, batches = make_private(
        ours, optimizer, noise_multiplier=0.7, noise_generator=generator, noise=noise
    )
    schedulers = [schedule(optimizer), schedule(reference.optimizer)] if schedule else []

    def advance():
        for scheduler in schedulers:
            scheduler.step()

    for _ in range(2):
        for batch in batches:
            optimizer.zero_grad()
            squared_loss(private, batch).backward()
            optimizer.step()
            reference.step(batch)
            advance()
    return private, theirs


OPACUS_CAN = ["single", "sequence", "deep", "twice"]  # its EmbeddingBag drops repeated ids


EXPANDED = [("sequence", "ew"), ("deep", "ew")]  # its expanded weights want 2-D input
BOTH = [(name, mode) for name in OPACUS_CAN for mode in ("hooks", "functorch")]


@pytest.mark.parametrize(("name", "mode"), BOTH + EXPANDED)
def test_without_noise_equals_opacus(name, mode):
    ours, theirs = build(name), build(name)
    a, a_optimizer, batches = make_private(ours, sgd(ours), grad_sample_mode=mode)
    b, b_optimizer, _ = make_private(
        theirs, sgd(theirs), engine=opacus.PrivacyEngine, grad_sample_mode=mode
    )
    train(a, a_optimizer, batches)
    train(b, b_optimizer, batches)
    assert_same(a, b, 1e-4)


@pytest.mark.parametrize("name", MODELS)
def test_equals_brute_force_with_the_same_noise_cells(name):
    private, theirs = against_brute_force(name, sgd)
    assert_same(private, theirs)


@pytest.mark.parametrize("name", ["bag_padding", "twice", "factors"])
def test_eager_noise_is_the_same_noise(name):
    private, theirs = against_brute_force(name, sgd, noise="every_row")
    assert_same(private, theirs)


OPTIMIZERS = {
    "weight_decay": {"weight_decay": 0.1},
    "momentum": {"momentum": 0.9},
    "dampening": {"momentum": 0.8, "dampening": 0.3, "weight_decay": 0.05},
    "nesterov": {"momentum": 0.7, "nesterov": True, "weight_decay": 0.05},
    "maximize": {"lr": 0.01, "maximize": True, "momentum": 0.5},
}


@pytest.mark.parametrize("noise", ["lazy_each_step", "every_row"])
@pytest.mark.parametrize("options", OPTIMIZERS.values(), ids=OPTIMIZERS)
def test_options_of_sgd_are_exact(options, noise):
    private, theirs = against_brute_force(
        "shared", lambda model: sgd(model, **({"lr": 0.2} | options)), noise=noise
    )
    assert_same(private, theirs)


def test_schedulers_and_groups_are_exact():
    def groups(model):
        tables = [model.left.weight]
        dense = [p for p in model.parameters() if p is not model.left.weight]
        return torch.optim.SGD(
            [{"params": tables, "lr": 2.0, "momentum": 0.5}, {"params": dense}], lr=0.1
        )

    private, theirs = against_brute_force(
        "shared", groups, schedule=lambda o: torch.optim.lr_scheduler.StepLR(o, 1, gamma=0.5)
    )
    assert_same(private, theirs)


def test_one_cycle_moves_rate_and_momentum():
    private, theirs = against_brute_force(
        "bag_sum",
        lambda model: sgd(model, momentum=0.9),
        schedule=lambda o: torch.optim.lr_scheduler.OneCycleLR(o, 0.5, total_steps=10),
    )
    assert_same(private, theirs)


def test_adam_moves_dense_layers_and_sgd_tables():
    def mixed(model):
        dense = model.out.parameters()
        return torch.optim.Adam(
            [{"params": dense, "lr": 0.01}, sgd_group([model.table.weight], lr=0.5)]
        )

    def separate(model):  # the reference's: two optimizers
        class Both:
            adam = torch.optim.Adam(model.out.parameters(), lr=0.01)
            tables = torch.optim.SGD([model.table.weight], lr=0.5)

            def step(self):
                self.adam.step()
                self.tables.step()

        return Both()

    ours, theirs = build("bag_sum"), build("bag_sum")
    reference = BruteForce(
        theirs, separate(theirs), squared_loss, sigma=0.7, bound=BOUND, expected_batch=4, seed=5
    )
    # Tables come last in the model's parameters, so dense noise is drawn in the same order.
    private, optimizer, batches = make_private(
        ours,
        mixed(ours),
        noise_multiplier=0.7,
        noise="lazy_each_step",
        noise_generator=torch.Generator().manual_seed(5),
    )
    for batch in batches:
        optimizer.zero_grad()
        squared_loss(private, batch).backward()
        optimizer.step()
        reference.step(batch)
    assert_same(private, theirs)


@pytest.mark.parametrize("name", ["bag_mean", "twice", "factors", "layered", "shared_norm"])
def test_ghost_clipping_is_the_same(name):
    ours, theirs = build(name), build(name)
    criterion = torch.nn.MSELoss()
    private, optimizer, criterion, batches = make_private(
        ours, sgd(ours), grad_sample_mode="ghost", criterion=criterion
    )
    reference = BruteForce(
        theirs, sgd(theirs), squared_loss, sigma=0, bound=BOUND, expected_batch=4
    )
    for _ in range(2):
        for dense, ids, target in batches:
            optimizer.zero_grad()
            criterion(private(dense, ids), target).backward()
            optimizer.step()
            reference.step((dense, ids, target))
    assert_same(private, theirs, 5e-5)


def test_ghost_clipping_takes_a_column_of_losses():
    ours, theirs = build("bag_sum"), build("bag_sum")
    private, optimizer, criterion, batches = make_private(
        ours, sgd(ours), grad_sample_mode="ghost", criterion=torch.nn.MSELoss()
    )
    reference = BruteForce(
        theirs, sgd(theirs), squared_loss, sigma=0, bound=BOUND, expected_batch=4
    )
    for dense, ids, target in batches:
        optimizer.zero_grad()
        criterion(private(dense, ids)[:, None], target[:, None]).backward()
        optimizer.step()
        reference.step((dense, ids, target))
    assert_same(private, theirs, 5e-5)
    with pytest.raises(ValueError, match="one loss for each example"):
        criterion(torch.zeros(4, 2, requires_grad=True), torch.zeros(4, 2))


def test_a_model_without_tables_is_left_to_opacus():
    def build_plain():
        torch.manual_seed(0)
        return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.Linear(4, 1))

    states = []
    for engine in (PrivacyEngine, opacus.PrivacyEngine):
        model = build_plain()
        private, optimizer, batches = make_private(
            model,
            sgd(model),
            engine=engine,
            noise_multiplier=1.0,
            noise_generator=torch.Generator().manual_seed(3),
        )
        for dense, _, target in batches:
            optimizer.zero_grad()
            torch.nn.functional.mse_loss(private(dense).squeeze(1), target).backward()
            optimizer.step()
        assert type(private).__module__.startswith("opacus")
        assert type(optimizer).__module__.startswith("opacus")
        states.append(copy.deepcopy(private.state_dict()))
    for key in states[0]:
        assert torch.equal(states[0][key], states[1][key])


def test_ahead_gives_the_same_model():
    results = []
    for settle in ("on_read", "ahead"):
        model = build("shared")
        private, optimizer, batches = make_private(
            model,
            sgd(model),
            noise_multiplier=0.7,
            settle=settle,
            noise_generator=torch.Generator().manual_seed(3),
        )
        train(private, optimizer, batches)
        results.append(private)
    assert_same(*results, tolerance=0)


def test_adaptive_clipping_runs_and_moves_the_bound():
    model = build("shared")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        private, optimizer, batches = make_private(model, sgd(model), **ADAPTIVE)
    train(private, optimizer, batches)
    assert optimizer.max_grad_norm != BOUND and 0.1 <= optimizer.max_grad_norm <= 10
