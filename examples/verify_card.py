"""Recompute the epsilon on a released model's card with Google's dp-accounting.

    python examples/verify_card.py runs/first/model

Needs dp-accounting, not lazydp: an accountant that shares no code with the one that made the claim.
"""

import json
import math
import sys
from pathlib import Path

from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from dp_accounting.pld import PLDAccountant


def sensitivity(block: dict) -> float:
    """How far one unit moves all steps of a block together, before its noise is undone."""
    first = [1.0]  # column of the inverse of the banded matrix
    for t in range(1, block["steps"]):
        first.append(-sum(d * first[t - j] for j, d in enumerate(block["bands"]) if 0 < j <= t))
    joins = range(0, block["steps"], block["separation"])[: block["participations"]]
    moved = (sum(first[t - s] for s in joins if s <= t) for t in range(block["steps"]))
    return math.sqrt(sum(x * x for x in moved))


def recomputed(card: dict) -> float:
    accountant = PLDAccountant()  # neighbours differ by adding or removing one unit
    for use in card["ledger"]:
        if use.get("mechanism") == "correlated_gaussian":  # the whole block is one mechanism
            accountant.compose(GaussianDpEvent(use["noise_multiplier"] / sensitivity(use)))
            continue
        event = GaussianDpEvent(use["noise_multiplier"])
        if "sampling_rate" in use:
            event = PoissonSampledDpEvent(use["sampling_rate"], event)
        accountant.compose(event, use["steps"])
    return accountant.get_epsilon(card["claim"]["delta"])


def main(folder: str) -> None:
    card = json.loads((Path(folder) / "card.json").read_text())
    if "epsilon" not in card["claim"] or "search" in card["claim"]:
        sys.exit("the card claims nothing, or pays for a search: lazydp verify says which")
    if card["sampling"] == "balls-in-bins" or any(use.get("disjoint") for use in card["ledger"]):
        sys.exit("balls in bins and disjoint blocks are not recomputed here: lazydp verify does")
    claimed, found = card["claim"]["epsilon"], recomputed(card)
    print(f"claimed: epsilon {claimed:.4f}; dp-accounting: {found:.4f} at {card['claim']['delta']}")
    sys.exit(0 if found <= claimed * 1.01 else "the card claims less than its ledger costs")


if __name__ == "__main__":
    main(sys.argv[1])
