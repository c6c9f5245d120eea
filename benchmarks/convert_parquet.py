"""Time lazydp.convert() of Parquet files against pyarrow's own reading of them, in turn.

Usage: convert_parquet.py [--rows N] [--rounds N] [--folder DIR]
The first log is shaped as Criteo's (13 whole numbers, 26 hexadecimal texts), the second as ratings
(two ids, a number, a time, a list). Both are written by pyarrow with its defaults.
"""

import argparse
import statistics
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


def read(path, dictionaries):
    for _ in scanner(path, dictionaries):
        pass


def seconds(work):
    begin = time.perf_counter()
    work()
    return time.perf_counter() - begin


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=2_000_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--folder", type=Path, default=None)
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
            for dictionaries in [[], texts] if texts else [[]]:
                ways = {
                    "read": lambda path=path, d=dictionaries: read(path, d),
                    "convert": lambda path=path, d=dictionaries: lazydp.convert(
                        scanner(path, d), at / "out.ldp", at / "schema.toml"
                    ),
                }
                times = {way: [] for way in ways}
                for _ in range(given.rounds):
                    for way, work in ways.items():
                        times[way].append(seconds(work))
                ratios = [r / c for r, c in zip(times["read"], times["convert"], strict=True)]
                print(
                    f"{name}{' as dictionaries' if dictionaries else ''}: {given.rows:,} rows,",
                    f"{path.stat().st_size / 1e6:.0f} MB of Parquet;",
                    f"read {statistics.median(times['read']):.2f} s,",
                    f"convert {statistics.median(times['convert']):.2f} s,",
                    f"throughput {statistics.median(ratios):.2f} of reading's",
                    f"({min(ratios):.2f} to {max(ratios):.2f})",
                )


if __name__ == "__main__":
    main()
