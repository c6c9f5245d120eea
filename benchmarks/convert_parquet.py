"""Time the conversion of Parquet files against pyarrow's own reading of them, in turn.

Usage: convert_parquet.py [--rows N] [--rounds N] [--folder DIR] [--program build/lazydp]
The first log is shaped as Criteo's (13 whole numbers, 26 hexadecimal texts), the second as ratings
(two ids, a number, a time, a list). Both are written by pyarrow with its defaults.
"""

import argparse
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq

import lazydp


def criteo(rows, draw):
    columns = {"label": draw.integers(0, 2, rows)}
    for i in range(13):
        columns[f"I{i + 1}"] = draw.geometric(0.01, rows)
    for i in range(26):
        values = np.array([f"{v:08x}" for v in draw.integers(0, 2**32, 10 ** (1 + i % 5))])
        columns[f"C{i + 1}"] = values[draw.zipf(1.3, rows) % len(values)]
    return pa.table(columns)


def ratings(rows, draw):
    lengths = draw.integers(0, 4, rows)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    genres = np.array(["Comedy", "Drama", "Horror", "Romance"])[draw.integers(0, 4, offsets[-1])]
    return pa.table(
        {
            "user": draw.integers(0, 10**6, rows),
            "movie": draw.zipf(1.2, rows) % 10**5,
            "year": draw.integers(1950, 2020, rows),
            "time": pa.array(draw.integers(1_600_000_000, 1_700_000_000, rows), pa.timestamp("s")),
            "genres": pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(genres)),
            "label": draw.integers(0, 2, rows),
        }
    )


LABEL = '[[column]]\nname = "label"\nrole = "label"\npositive_from = 1\n'
CRITEO = LABEL + "".join(
    [f'[[column]]\nname = "I{i + 1}"\nrole = "dense"\n' for i in range(13)]
    + [f'[[column]]\nname = "C{i + 1}"\nrole = "categorical"\nrows = 100000\n' for i in range(26)]
)
RATINGS = (
    '[[column]]\nname = "user"\nrole = "categorical"\nrows = 1000000\nkey = true\n'
    '[[column]]\nname = "movie"\nrole = "categorical"\nrows = 100000\n'
    '[[column]]\nname = "year"\nrole = "dense"\n'
    '[[column]]\nname = "time"\nrole = "categorical"\nbucket = 2592000\nrows = 256\n'
    '[[column]]\nname = "genres"\nrole = "multi"\nseparator = "|"\nrows = 64\n' + LABEL
)


def scanner(path, dictionaries):
    options = ds.ParquetFileFormat(dictionary_columns=dictionaries)
    return ds.dataset(path, format=options).scanner().to_reader()


def seconds(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def ways(at, path, dictionaries, program):
    """Return what is timed: reading into memory first, then what makes a data file."""
    schema, out = at / "schema.toml", at / "out.ldp"
    words = [program, "convert", "parquet", "--quiet", "--schema", schema, path, out]
    every = {
        "pyarrow.parquet.read_table": lambda: pq.read_table(path),
        "lazydp.convert": lambda: lazydp.convert(scanner(path, []), out, schema),
    }
    if dictionaries:
        every["lazydp.convert, text as dictionaries"] = lambda: lazydp.convert(
            scanner(path, dictionaries), out, schema
        )
    if program:
        every["lazydp convert parquet"] = lambda: subprocess.run(words, check=True)
    return every


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=None)
    parser.add_argument("--program", type=Path, default=None, help="built with Arrow")
    given = parser.parse_args()
    draw = np.random.default_rng(1)
    logs = {"criteo": (criteo, CRITEO), "ratings": (ratings, RATINGS)}
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        at = Path(folder)
        for name, (make, schema) in logs.items():
            path = at / f"{name}.parquet"
            pq.write_table(make(given.rows, draw), path)
            (at / "schema.toml").write_text(schema)
            texts = [f"C{i + 1}" for i in range(26)] if name == "criteo" else []
            every = ways(at, path, texts, given.program)
            times = {way: [] for way in every}
            for _ in range(given.rounds):
                for way, work in every.items():
                    times[way].append(seconds(work))
            size = path.stat().st_size / 1e6
            print(f"{name}: {given.rows:,} rows, {size:.0f} MB of Parquet")
            read = times["pyarrow.parquet.read_table"]
            for way, mine in times.items():
                ratios = [r / m for r, m in zip(read, mine, strict=True)]
                print(
                    f"  {way}: {statistics.median(mine):.2f} s,",
                    f"{statistics.median(ratios):.2f} times the throughput of reading",
                    f"({min(ratios):.2f} to {max(ratios):.2f})",
                )


if __name__ == "__main__":
    main()
