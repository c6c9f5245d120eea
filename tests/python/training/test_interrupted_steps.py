"""Of a step that is interrupted nothing is kept: no later one applies its gradients."""

import pytest
import torch
from torch import nn

from lazydp import PrivacyEngineAdaptiveClipping
from lazydp.layers.linear import FactoredLinear
from models import assert_same, build, data
from training import ADAPTIVE, private, reference
from unit_runs import by_unit, loss_of, moved, unit_sums, values


def interrupt(*_, **__):
    raise KeyboardInterrupt


# Where Ctrl-C, a lack of memory or a failing hook may stop optimizer.step().
PLACES = {
    "clipping": lambda patch, optimizer: patch.setattr(FactoredLinear, "add_clipped", interrupt),
    "noise": lambda patch, optimizer: patch.setattr(optimizer, "add_noise", interrupt),
    "scaling": lambda patch, optimizer: patch.setattr(optimizer, "scale_grad", interrupt),
    "hook": lambda patch, optimizer: patch.setattr(optimizer, "_hooks", (interrupt,)),
    "tables": lambda patch, optimizer: patch.setattr(
        optimizer.tables.exchange, "synchronise", interrupt
    ),
}


def interrupted(optimizer, place):
    with pytest.MonkeyPatch.context() as patch:
        PLACES[place](patch, optimizer)
        with pytest.raises(KeyboardInterrupt):
            optimizer.step()


@pytest.mark.parametrize("mode", ["hooks", "functorch", "ghost"])
@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("name", ["shared", "layered_norm"])
def test_no_later_step_applies_what_was_interrupted(name, place, mode):
    if (mode, place) == ("functorch", "clipping"):
        pytest.skip("no factored layer")
    options = {"noise_multiplier": 0.0, "grad_sample_mode": mode, "criterion": nn.MSELoss()}
    made = private(build(name), **options)
    model, optimizer = made[:2]
    loss = made[2] if mode == "ghost" else nn.MSELoss()
    expected, brute = reference(name, sigma=0.0)
    first, *rest = made[-1]
    loss(model(*first[:2]), first[2]).backward()
    interrupted(optimizer, place)
    for batch in rest:  # and nothing is cleared
        loss(model(*batch[:2]), batch[2]).backward()
        optimizer.step()
        brute.step(batch)
    assert_same(model, expected, 5e-5)


@pytest.mark.parametrize("place", PLACES)
def test_units_of_an_interrupted_step_do_not_join_the_next_one(place):
    raw = build("shared")
    model, optimizer, batches = by_unit(raw, batch=10)
    (batch,) = batches
    loss_of(model, batch).backward()
    interrupted(optimizer, place)
    before = values(raw)
    (batch,) = batches
    expected, _ = unit_sums(raw, batch[:3], batch[3])
    loss_of(model, batch).backward()
    optimizer.step()
    for ours, theirs in zip(moved(before, raw), expected, strict=True):
        torch.testing.assert_close(ours * 10.0, theirs, rtol=5e-5, atol=1e-5)


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("how", ["hooks", "ghost"])
def test_its_examples_are_not_counted_by_adaptive_clipping(how, place):
    options = {"batches": torch.utils.data.DataLoader(data(), batch_size=12)}
    if how == "hooks":
        options |= ADAPTIVE
    else:
        options |= {"engine": PrivacyEngineAdaptiveClipping(accountant="rdp")}
        options |= {"grad_sample_mode": "ghost", "criterion": nn.MSELoss()}
        options |= {"noise_multiplier": 0.5, "max_clipbound": 10.0, "min_clipbound": 0.1}
    made = private(build("shared"), **options)
    model, optimizer = made[:2]
    loss = made[2] if how == "ghost" else nn.MSELoss()
    for _ in range(2):
        (batch,) = made[-1]
        loss(model(*batch[:2]), batch[2]).backward()
        interrupted(optimizer, place)
        count = optimizer.unclipped_num if how == "hooks" else optimizer._centred_count
        assert float(count) == 0.0
