"""Blocks of correlated noise by this project and by Google's jax_privacy and dp-accounting.

Usage: correlated_peers.py PROGRAM SETTINGS. Draws that many settings with a fixed seed and exits 1 if
on any of them

  the sensitivity differs by 1e-9, relative, from jax_privacy's for the matrix whose inverse has our
  bands (its solver of banded systems, its sensitivity for a least separation);
  epsilon differs by 1e-4 from dp-accounting's for the Gaussian mechanism of that sensitivity.
"""

import json
import random
import subprocess
import sys
from dataclasses import dataclass

import jax
import jax.numpy as jnp
from dp_accounting import get_epsilon_gaussian
from jax_privacy.matrix_factorization import toeplitz

jax.config.update("jax_enable_x64", True)


@dataclass(frozen=True)
class Setting:
    correlation: str
    steps: int
    gap: int
    participations: int
    sigma: float


def draw(rng: random.Random) -> Setting:
    steps = rng.randint(1, 400)
    correlation = rng.choice(
        [f"lambda:{rng.uniform(0, 0.99):.4f}", f"bisr:{rng.randint(1, 64)}", "independent"]
    )
    return Setting(
        correlation, steps, rng.randint(1, steps), rng.randint(1, 20), rng.uniform(0.5, 40)
    )


def bands_of(correlation: str) -> list[float]:
    kind, _, value = correlation.partition(":")
    if kind == "lambda":
        return [1.0, -float(value)]
    # The inverse of the optimal factor of the matrix of prefix sums, cut off.
    count = int(value) if value else 1
    return [float(d) for d in toeplitz.optimal_max_error_noising_coefs(count)]


def ours(program: str, setting: Setting) -> dict[str, float]:
    words = ["privacy", "epsilon", "--sampling", "stream", "--correlation", setting.correlation]
    words += ["--steps", str(setting.steps), "--unit-gap", str(setting.gap)]
    words += ["--unit-participations", str(setting.participations), "--delta", "1e-6"]
    words += ["--noise-multiplier", repr(setting.sigma), "--json", "-", "--quiet"]
    ran = subprocess.run([program, *words], capture_output=True, text=True, check=True)
    return json.loads(ran.stdout)


def main() -> None:
    program, settings = sys.argv[1], int(sys.argv[2])
    rng = random.Random(22)
    wrong = 0
    for _ in range(settings):
        setting = draw(rng)
        here = ours(program, setting)
        column = toeplitz.inverse_coef(jnp.array(bands_of(setting.correlation)), setting.steps)
        square = toeplitz.minsep_sensitivity_squared(
            column, setting.gap, setting.participations, setting.steps, skip_checks=True
        )
        moved = float(square) ** 0.5
        epsilon = get_epsilon_gaussian(setting.sigma / moved, 1e-6)
        same = abs(here["sensitivity"] / moved - 1) < 1e-9
        if not same or abs(here["epsilon"] - epsilon) > 1e-4 * max(1.0, epsilon):
            wrong += 1
            print(setting, here, "theirs:", moved, epsilon)
    print(f"{settings} settings, {wrong} wrong")
    sys.exit(wrong > 0)


if __name__ == "__main__":
    main()
