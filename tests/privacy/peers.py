"""Epsilon by this project, by Opacus (RDP, PRV) and by Google's dp-accounting (PLD), side by side.

Usage: peers.py PROGRAM SETTINGS. Draws that many settings, log-uniformly and with a fixed seed, asks
all four, and exits 1 if on any setting

  pld   differs from dp-accounting's pessimistic value by more than 0.5 % and 0.005, or is below its
        optimistic one;
  rdp   is above Opacus' with its own orders, or differs from Opacus' with our orders where the best
        of them is a whole number (at fractional orders Opacus sums a series without its signs, which
        is an upper bound);
  pld   is outside the interval that Opacus' PRV accountant proves (settings with epsilon below 30:
        above, its grid does not fit into memory);
  or    ours takes 2 seconds of processor time or 1 GB.
"""

import json
import math
import os
import random
import resource
import signal
import subprocess
import sys
import warnings
from dataclasses import dataclass

from dp_accounting.pld import privacy_loss_distribution as google
from opacus.accountants import PRVAccountant, RDPAccountant

SECONDS, BYTES = 2, 10**9
ONE_THREAD = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
RELATIVE, ABSOLUTE = 0.005, 0.005
PRV_ERROR, PRV_LARGEST = 0.01, 30.0
# Those of our orders (src/lazydp/privacy/rdp.cc) at which Opacus' binomials do not overflow.
ORDERS = [i / 10 for i in range(11, 110)] + list(range(11, 65)) + [80, 96, 112, 128, 160, 192, 224]
ORDERS += [256, 320, 384, 448, 512, 640, 768, 896]
MOST_POINTS = 1e6  # of dp-accounting's grid: some seconds


@dataclass(frozen=True)
class Setting:
    q: float
    sigma: float
    steps: int
    delta: float


def draw(rng: random.Random) -> Setting:
    def log_uniform(low: float, high: float) -> float:
        return math.exp(rng.uniform(math.log(low), math.log(high)))

    return Setting(
        q=log_uniform(1e-6, 1.0),
        sigma=log_uniform(0.3, 50.0),
        steps=round(log_uniform(1.0, 1e6)),
        delta=log_uniform(1e-9, 1e-3),
    )


def limit() -> None:
    """In the child before it becomes our program: what it may use."""
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))
    resource.setrlimit(resource.RLIMIT_AS, (BYTES, BYTES))


def ours(program: str, s: Setting, accountant: str) -> float:
    words = [program, "privacy", "epsilon", "--quiet", "--json", "-", "--accountant", accountant]
    words += ["--sampling-rate", repr(s.q), "--noise-multiplier", repr(s.sigma)]
    words += ["--steps", str(s.steps), "--delta", repr(s.delta)]
    done = subprocess.run(words, stdout=subprocess.PIPE, preexec_fn=limit, env=ONE_THREAD, check=False)
    assert done.returncode != -signal.SIGXCPU, f"{accountant} took {SECONDS} s of processor time"
    assert done.returncode == 0, f"{accountant}: exit code {done.returncode}"
    return json.loads(done.stdout)["epsilon"]


def google_epsilon(s: Setting, interval: float, pessimistic: bool) -> float:
    loss = google.from_gaussian_mechanism(
        s.sigma,
        sampling_prob=s.q,
        value_discretization_interval=interval,
        pessimistic_estimate=pessimistic,
        use_connect_dots=pessimistic,
    )
    try:
        return loss.self_compose(s.steps).get_epsilon_for_delta(s.delta)
    except OverflowError:  # of exp(epsilon), some way above 700 / 2
        return math.inf if pessimistic else 0.0


def close(a: float, b: float) -> bool:
    return abs(a - b) <= max(RELATIVE * b, ABSOLUTE)


def check_google(s: Setting, pld: float) -> float:
    """Halves its grid's spacing until it agrees with us or does not fit; returns its last word."""
    one_step = 0.5 / s.sigma**2 + 9 / s.sigma  # the largest loss that matters
    finest = max(one_step, pld) / MOST_POINTS
    interval = max(finest, min(pld / 2e3, 0.01), 1e-7)
    while True:
        upper = google_epsilon(s, interval, pessimistic=True)
        if close(pld, upper) or interval == finest:
            break
        interval = max(finest, interval / 4)
    assert close(pld, upper), f"pld {pld:.8g}, dp-accounting {upper:.8g}"
    lower = google_epsilon(s, interval, pessimistic=False)
    assert pld >= lower * (1 - 1e-9), f"pld {pld:.8g} below dp-accounting's optimistic {lower:.8g}"
    return upper


def opacus_rdp(s: Setting, orders: list[float] | None) -> tuple[float, float]:
    accountant = RDPAccountant()
    accountant.history = [(s.sigma, s.q, s.steps)]
    epsilon, order = accountant.get_privacy_spent(delta=s.delta, alphas=orders)
    return max(float(epsilon), 0.0), float(order)  # below 0 it proves nothing more than 0 does


def check_opacus_rdp(s: Setting, rdp: float) -> bool:
    """Whether the two could be compared for equality."""
    theirs, _ = opacus_rdp(s, None)
    assert rdp <= theirs * (1 + 1e-6), f"rdp {rdp:.8g} above Opacus' {theirs:.8g}"
    same_orders, best = opacus_rdp(s, ORDERS)
    assert rdp <= same_orders * (1 + 1e-6), f"rdp {rdp:.8g}, Opacus' {same_orders:.8g} with our orders"
    comparable = rdp > 0 and best == round(best) and best < ORDERS[-1]
    if comparable:
        assert rdp >= same_orders * (1 - 1e-6), f"rdp {rdp:.8g}, Opacus {same_orders:.8g} at {best}"
    return comparable


def check_opacus_prv(s: Setting, pld: float) -> None:
    accountant = PRVAccountant()
    accountant.history = [(s.sigma, s.q, s.steps)]
    delta_error = s.delta / 1000
    law = accountant._get_dprv(eps_error=PRV_ERROR, delta_error=delta_error)
    lower, _, upper = law.compute_epsilon(s.delta, delta_error, PRV_ERROR)
    assert lower * (1 - 1e-9) <= pld, f"pld {pld:.8g} below PRV's {lower:.8g}"
    assert pld <= max(upper, 0) * (1 + 1e-9), f"pld {pld:.8g} above PRV's {upper:.8g}"


def check(program: str, s: Setting) -> tuple[float, float, bool]:
    pld = ours(program, s, "pld")
    rdp = ours(program, s, "rdp")
    assert pld <= rdp, f"pld {pld:.8g} above rdp {rdp:.8g}"
    compared = check_opacus_rdp(s, rdp)
    if pld < PRV_LARGEST:
        check_opacus_prv(s, pld)
    return pld, check_google(s, pld), compared


def main() -> int:
    program, settings = sys.argv[1], int(sys.argv[2])
    warnings.filterwarnings("ignore")  # Opacus: the best order is the first or the last
    rng = random.Random(20240427)
    failed, worst, compared = 0, 0.0, 0
    for i in range(settings):
        s = draw(rng)
        try:
            pld, google_says, same = check(program, s)
        except AssertionError as error:
            failed += 1
            print(f"FAILED: {s}: {error}", flush=True)
            continue
        compared += same
        if google_says > 0.1:
            worst = max(worst, abs(pld / google_says - 1))
        if i % 20 == 19:
            print(f"{i + 1} settings, {failed} failed", flush=True)
    print(
        f"{settings} settings, {failed} failed; {compared} RDP values equal to Opacus'; PLD off "
        f"dp-accounting's by {worst:.2%} at most where epsilon is above 0.1"
    )
    return 1 if failed or compared < settings / 4 else 0


if __name__ == "__main__":
    sys.exit(main())
