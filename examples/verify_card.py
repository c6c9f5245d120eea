"""Recompute the epsilon on a released model's card with Google's dp-accounting.

    python examples/verify_card.py runs/first/model

Needs dp-accounting, not lazydp: an accountant that shares no code with the one that made the claim.
"""

import json
import sys
from pathlib import Path

from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent
from dp_accounting.pld import PLDAccountant


def recomputed(card: dict) -> float:
    accountant = PLDAccountant()  # neighbours differ by adding or removing one unit
    for use in card["ledger"]:
        if use.get("mechanism", "gaussian") != "gaussian":
            sys.exit(f"dp-accounting has no {use['mechanism']}: lazydp verify recomputes it")
        event = GaussianDpEvent(use["noise_multiplier"])
        if "sampling_rate" in use:
            event = PoissonSampledDpEvent(use["sampling_rate"], event)
        accountant.compose(event, use["steps"])
    return accountant.get_epsilon(card["claim"]["delta"])


def main(folder: str) -> None:
    card = json.loads((Path(folder) / "card.json").read_text())
    if "epsilon" not in card["claim"] or "search" in card["claim"]:
        sys.exit("the card claims nothing, or pays for a search: lazydp verify says which")
    claimed, found = card["claim"]["epsilon"], recomputed(card)
    print(f"claimed: epsilon {claimed:.4f}; dp-accounting: {found:.4f} at {card['claim']['delta']}")
    sys.exit(0 if found <= claimed * 1.01 else "the card claims less than its ledger costs")


if __name__ == "__main__":
    main(sys.argv[1])
