"""A reader of a table, and one that takes it away, finds it settled."""

import copy
import io
import pickle
import threading

import pytest
import torch
from torch import nn

from lazydp import PrivacyEngine, PrivacyError, UserError
from models import Bag, assert_same, build, data, squared_loss
from training import checkpoint_of, private, reference, seeded, step


def test_evaluation_between_steps_sees_settled_rows_and_changes_nothing():
    model, optimizer, batches = private(build("shared"), noise="lazy_each_step", **seeded())
    expected, brute = reference("shared")
    probe = data(seed=9)[:]
    for batch in batches:
        step(model, optimizer, batch)
        brute.step(batch)
        model.eval()
        with torch.no_grad():
            torch.testing.assert_close(
                model(*probe[:2]), expected(*probe[:2]), rtol=1e-4, atol=1e-4
            )
        model.train()
        torch.testing.assert_close(model.left.weight, expected.left.weight, rtol=1e-4, atol=1e-4)
    assert_same(model, expected)


def test_threads_may_read_at_once():
    torch.manual_seed(0)
    model, optimizer, _ = private(Bag(mode="sum"), noise="lazy", **seeded())
    batch = data(64)[:]
    for _ in range(3):
        step(model, optimizer, data()[:4])
    model.eval()
    outputs = [None] * 4

    def read(i):
        with torch.no_grad():
            outputs[i] = model(*batch[:2])

    threads = [threading.Thread(target=read, args=(i,)) for i in range(4)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    assert all(torch.equal(out, outputs[0]) for out in outputs)


def test_state_goes_out_settled_and_comes_back():
    options = {"lr": 0.2, "momentum": 0.9}
    model = build("shared")
    engine = PrivacyEngine(accountant="rdp")
    a, a_optimizer, batches = private(
        model, engine=engine, optimizer=torch.optim.SGD(model.parameters(), **options)
    )
    for batch in batches:
        step(a, a_optimizer, batch)
    file = checkpoint_of(engine, a, a_optimizer)
    assert all(group.all_settled() for group in a_optimizer.tables.groups.values())

    other = build("shared", seed=8)
    second = PrivacyEngine(accountant="rdp")
    b, b_optimizer, _ = private(
        other, engine=second, optimizer=torch.optim.SGD(other.parameters(), **options)
    )
    second.load_checkpoint(path=file, module=b, optimizer=b_optimizer)
    assert_same(a, b, 0)
    assert second.get_epsilon(1e-5) == engine.get_epsilon(1e-5)
    for optimizer in (a_optimizer, b_optimizer):
        optimizer.noise_multiplier = 0.0
    for batch in batches:
        step(a, a_optimizer, batch)
        step(b, b_optimizer, batch)
    assert_same(a, b)  # momenta came along


def test_loaded_weights_owe_nothing():
    model, optimizer, batches = private(build("shared"))
    saved = {k: v.clone() for k, v in model.state_dict().items()}
    for batch in batches:
        step(model, optimizer, batch)
    model.load_state_dict(saved)
    for key, value in model.state_dict().items():
        assert torch.equal(value, saved[key]), key
    with pytest.raises(UserError, match="assign"):
        model.load_state_dict(saved, assign=True)


def test_deepcopy_is_plain_and_settled():
    model, optimizer, batches = private(build("shared"))
    for batch in batches:
        step(model, optimizer, batch)
    twin = copy.deepcopy(model)
    assert type(twin.left) is nn.EmbeddingBag and twin.left.weight.requires_grad
    assert twin.left.weight is twin.right.weight
    assert_same(twin, model, 0)
    squared_loss(twin, data()[:4]).backward()  # no hook of ours, none of Opacus'
    assert not hasattr(twin.out[0].weight, "grad_sample")
    step(model, optimizer, data()[:4])  # and the original trains on
    assert type(copy.deepcopy(model.left)) is nn.EmbeddingBag


def test_pickling_is_refused_with_the_reason():
    model, optimizer, _ = private(build("bag_sum"))
    for thing in (model, model.table, model._module):
        with pytest.raises(PrivacyError, match="would void the guarantee"):
            pickle.dumps(thing)
        with pytest.raises(PrivacyError):
            torch.save(thing, io.BytesIO())
    with pytest.raises(PrivacyError, match="optimizer"):
        pickle.dumps(optimizer)


@pytest.mark.parametrize("of", [lambda m: m.each, lambda m: m.norm, lambda m: m.out])
def test_dense_layers_are_pickled_as_plain_ones(of):
    """They took the run's inputs along, and what was loaded trained without learning."""
    raw = build("layered_norm")
    model, optimizer, batches = private(raw)
    batch = next(iter(batches))
    squared_loss(model, batch).backward()  # its inputs wait for the step
    bytes_of_it = pickle.dumps(of(raw))
    assert b"lazydp" not in bytes_of_it
    loaded, layer = pickle.loads(bytes_of_it), of(raw)
    optimizer.step()
    assert [type(m).__name__.removeprefix("Private") for m in layer.modules()] == [
        type(m).__name__ for m in loaded.modules()
    ]
    values = torch.randn(5, next(layer.parameters()).shape[-1])
    loaded(values).sum().backward()
    assert all(p.grad is not None for p in loaded.parameters())
    assert type(copy.copy(raw.each)) is nn.Linear


def test_a_pickled_layer_is_not_watched():
    class Counting(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x):
            return x

    raw = build("bag_sum")
    raw.out.append(Counting())
    private(raw)
    (watch,) = raw.out[-1]._forward_hooks.values()
    pickled = pickle.loads(pickle.dumps(watch.__self__))
    counting = Counting()
    pickled.before(counting, ())
    counting.count += 1
    pickled.after(counting, (), None)  # it raises where a private model is watched


def test_release_gives_a_plain_module_and_ends_training():
    engine = PrivacyEngine(accountant="rdp")
    raw = build("shared")
    model, optimizer, batches = private(raw, engine=engine)
    for batch in batches:
        step(model, optimizer, batch)
    settled = copy.deepcopy(model)
    plain = engine.release(model)
    assert plain is raw and type(plain.left) is nn.EmbeddingBag
    assert all(p.requires_grad for p in plain.parameters())
    assert not any(m._forward_hooks or m._backward_hooks for m in plain.modules())
    assert_same(plain, settled, 0)
    pickle.dumps(plain)
    with pytest.raises(PrivacyError, match="released"):
        optimizer.zero_grad()
        squared_loss(plain, data()[:4]).backward()
        optimizer.original_optimizer.zero_grad()
        for p in optimizer.params:
            p.grad_sample = torch.zeros(4, *p.shape)
            p.summed_grad = None
        optimizer.step()


def test_what_is_released_has_all_of_its_noise():
    """Nothing but the release settles here; eager noise is the oracle."""
    for leave in (PrivacyEngine().release, lambda m: m.to_standard_module()):
        model, optimizer, batches = private(build("shared"), noise="lazy_each_step", **seeded())
        expected, brute = reference("shared")
        batch = next(iter(batches))
        step(model, optimizer, batch)
        brute.step(batch)
        assert_same(leave(model), expected)
