"""Step time against batch, pooling, table size, dimension and threads: make bench-growth.

Writes growth.csv, and growth.svg with a panel for each axis; nothing should grow faster than the
work does.
"""

from __future__ import annotations

import argparse
import csv
import math
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from program import bench

# One axis at a time, from the shape in the middle: 26 tables of 100,000 rows of 64 floats each.
SHAPE = dict(model="basic", rows="26x100000", dim=64, bottom="13-512-256-64", batch=2048, threads=2)
ALGORITHMS = ("sgd", "lazydp")


def bottom(dim: int) -> str:
    return f"13-512-256-{dim}"


AXES = {
    "batch": [dict(SHAPE, batch=n) for n in (256, 512, 1024, 2048, 4096, 8192, 16384)],
    "pooling": [dict(SHAPE, pooling=n) for n in (1, 5, 10, 20, 40, 80)],
    "table_mb": [
        dict(SHAPE, rows=f"26x{mb * 10**6 // (26 * 256)}")
        for mb in (64, 256, 1000, 2000, 4000, 8000)
    ],
    "dim": [dict(SHAPE, dim=n, bottom=bottom(n)) for n in (16, 32, 64, 128, 256)],
    "threads": [dict(SHAPE, threads=n) for n in (1, 2)],
}


def position(axis: str, flags: dict) -> float:
    if axis == "table_mb":
        return int(flags["rows"].split("x")[1]) * 26 * 256 / 1e6
    return flags[axis] if axis in flags else flags["pooling"]


def measure(axis: str, rounds: int) -> list[dict]:
    rows = []
    for flags in AXES[axis]:
        run = bench(",".join(ALGORITHMS), rounds=rounds, **flags)
        row = {"axis": axis, "x": round(position(axis, flags), 1)}
        row |= {f"{a}_ms": round(run.step_ms(a), 3) for a in ALGORITHMS}
        row["lazydp_over_sgd"] = round(run.ratio("lazydp", "sgd")[0], 3)
        rows.append(row)
        print(row, flush=True)
    return rows


WIDTH, HEIGHT = 420, 300  # of a panel


def panel(axis: str, rows: list[dict], x: int, y: int) -> str:
    """Both axes logarithmic; a dotted line grows as fast as x."""
    width, height, margin = WIDTH, HEIGHT, 50
    xs = [math.log10(r["x"]) for r in rows]
    series = {a: [math.log10(r[f"{a}_ms"]) for r in rows] for a in ALGORITHMS}
    low = min(min(s) for s in series.values()) - 0.1
    high = max(max(s) for s in series.values()) + 0.1

    def at(right: float, above: float) -> str:
        across = (right - xs[0]) / (xs[-1] - xs[0] or 1)
        up = (above - low) / (high - low)
        return (
            f"{margin + across * (width - 2 * margin):.1f},"
            f"{height - margin - up * (height - 2 * margin):.1f}"
        )

    def line(points: list[tuple[float, float]], style: str) -> str:
        return f'<polyline points="{" ".join(at(*p) for p in points)}" fill="none" {style}/>'

    start = series["lazydp"][0]
    end = min(xs[-1], xs[0] + high - start)
    dashed = 'stroke="#999" stroke-dasharray="2 3"'
    parts = []
    if axis != "threads":  # more of them is not more work
        parts.append(line([(xs[0], start), (end, start + end - xs[0])], dashed))
    colours = {"sgd": "#888888", "lazydp": "#0b6e4f"}
    for k, (name, ys) in enumerate(series.items()):
        points, colour = list(zip(xs, ys, strict=True)), colours[name]
        parts.append(line(points, f'stroke="{colour}" stroke-width="2"'))
        parts.append(f'<text x="{margin + 5}" y="{20 + 16 * k}" fill="{colour}">{name}</text>')
    for r, right in zip(rows, xs, strict=True):
        px = at(right, low).split(",")[0]
        place = f'x="{px}" y="{height - margin + 16}" text-anchor="middle"'
        parts.append(f"<text {place}>{r['x']:g}</text>")
    for r in (rows[0], rows[-1]):
        px, py = at(math.log10(r["x"]), math.log10(r["lazydp_ms"])).split(",")
        parts.append(
            f'<text x="{px}" y="{float(py) - 8:.1f}" text-anchor="middle">'
            f"{r['lazydp_ms']:.3g} ms</text>"
        )
    parts.append(f'<text x="{width / 2}" y="{height - 10}" text-anchor="middle">{axis}</text>')
    return (
        f'<svg x="{x}" y="{y}" width="{width}" height="{height}">\n'
        + "\n".join(parts)
        + "\n</svg>\n"
    )


def svg(by_axis: dict[str, list[dict]]) -> str:
    """Two panels beside each other."""
    panels = [
        panel(axis, rows, WIDTH * (i % 2), HEIGHT * (i // 2))
        for i, (axis, rows) in enumerate(by_axis.items())
    ]
    width, height = 2 * WIDTH, HEIGHT * math.ceil(len(panels) / 2)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="11">\n<rect width="{width}" height="{height}" '
        f'fill="white"/>\n' + "".join(panels) + "</svg>\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, default=Path("build/growth"))
    parser.add_argument("--rounds", type=int, default=11)
    parser.add_argument("axes", nargs="*", default=list(AXES), help=", ".join(AXES))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    by_axis = {axis: measure(axis, options.rounds) for axis in options.axes}
    (options.out / "growth.svg").write_text(svg(by_axis))
    everything = [row for rows in by_axis.values() for row in rows]
    with open(options.out / "growth.csv", "w", newline="") as file:
        writer = csv.DictWriter(file, fieldnames=everything[0])
        writer.writeheader()
        writer.writerows(everything)


if __name__ == "__main__":
    main()
