"""A table in memory becomes the data file that the same values in text become."""

import datetime
import random
import subprocess
import sys
from pathlib import Path

import duckdb
import numpy as np
import pandas
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import lazydp
from lazydp.serving.scoring_values import texts_of

PROGRAM = Path(__file__).parents[3] / "build/dev/src/lazydp/cli/lazydp"
SCHEMA = """
[[column]]
name = "user"
role = "categorical"
rows = 1000
key = true
[[column]]
name = "shop"
role = "categorical"
rows = 1000
[[column]]
name = "age"
role = "dense"
[[column]]
name = "price"
role = "dense"
transform = "none"
[[column]]
name = "tags"
role = "multi"
separator = "|"
rows = 50
[[column]]
name = "when"
role = "categorical"
bucket = 3600
rows = 100
[[column]]
name = "stars"
role = "label"
positive_from = 4
[[column]]
name = "said"
role = "ignore"
"""
ROWS = 10_000


def made_up_rows(count=ROWS):
    draw = random.Random(7)
    start = datetime.datetime(2024, 1, 1)
    for i in range(count):
        yield {
            "user": None if i % 13 == 0 else draw.randrange(-(2**62), 2**62),
            "shop": None
            if i % 17 == 0
            else f"shop {draw.randrange(300)} with a long name"[: 6 + i % 20],
            "age": None if i % 11 == 0 else draw.randrange(100),
            "price": None if i % 7 == 0 else draw.uniform(-1e6, 1e6),
            "tags": None if i % 5 == 0 else [f"t{draw.randrange(9)}" for _ in range(i % 4)],
            "when": start + datetime.timedelta(milliseconds=draw.randrange(10**10)),
            "stars": draw.randrange(1, 6),
        }


def in_text(value):
    if value is None:
        return ""
    if isinstance(value, list):
        return "|".join(value)
    return value.isoformat() if isinstance(value, datetime.datetime) else repr(value).strip("'")


TYPES = pa.schema(
    {
        "stars": pa.int8(),
        "more": pa.int32(),
        "user": pa.int64(),
        "shop": pa.string(),
        "age": pa.uint16(),
        "price": pa.float64(),
        "tags": pa.list_(pa.string()),
        "when": pa.timestamp("ms"),
    }
)


@pytest.fixture(name="at", scope="module")
def folder_with_the_file_of_the_text(tmp_path_factory):
    if not PROGRAM.exists():
        pytest.skip("the program is not built")
    at = tmp_path_factory.mktemp("convert")
    (at / "schema.toml").write_text(SCHEMA)
    names = "user shop age price tags when stars".split()
    lines = [",".join(in_text(row[name]) for name in names) + ",x\n" for row in made_up_rows()]
    (at / "log.csv").write_text("".join(lines))
    convert = ["convert", "csv", "--quiet", "--schema", "schema.toml", "log.csv", "text.ldp"]
    subprocess.run([PROGRAM, *convert], check=True, cwd=at)
    return at


@pytest.fixture(name="table", scope="module")
def table_of_arrow():
    return pa.Table.from_pylist([row | {"more": 1} for row in made_up_rows()], schema=TYPES)


def require_same(at, source):
    done = lazydp.convert(source, at / "out.ldp", at / "schema.toml")
    assert done.rows == done.examples == ROWS
    assert done.bad_rows == 0
    assert (at / "out.ldp").read_bytes() == (at / "text.ldp").read_bytes()
    assert done.file_bytes == (at / "out.ldp").stat().st_size


def test_pyarrow_gives_the_file_of_the_text(at, table):
    require_same(at, table)
    require_same(at, table.to_reader(max_chunksize=77))  # slices: arrays that begin later
    require_same(at, pa.RecordBatchReader.from_batches(table.schema, iter(table.to_batches(999))))
    require_same(at, pa.concat_tables([table[:1], table[1:9001], table[9001:]]))


@pytest.mark.parametrize(
    "types",
    [
        {"shop": pa.dictionary(pa.int8(), pa.string()), "age": pa.float32(), "stars": pa.float64()},
        {"shop": pa.dictionary(pa.int32(), pa.large_string()), "when": pa.timestamp("ns", "UTC")},
        {"shop": pa.large_string(), "tags": pa.large_list(pa.large_string()), "age": pa.int32()},
        {"shop": pa.string_view(), "tags": pa.list_(pa.dictionary(pa.int8(), pa.string()))},
        {"shop": pa.binary(), "when": pa.timestamp("us"), "age": pa.decimal128(9, 0)},
    ],
    ids=["dictionary", "nanoseconds", "large", "views", "decimal"],
)
def test_every_type_gives_the_file_of_the_text(at, table, types):
    if types.get("shop") == pa.dictionary(pa.int8(), pa.string()):
        shops = table["shop"].combine_chunks().dictionary_encode()
        types = types | {"shop": shops.type}
        table = table.set_column(table.schema.get_field_index("shop"), "shop", shops)
    names = table.schema.names
    rows = table.to_pylist()
    made = pa.schema([(name, types.get(name, table.schema.field(name).type)) for name in names])
    columns = [pa.array([row[name] for row in rows], TYPES.field(name).type) for name in names]
    casts = [
        pa.array([None if row["tags"] is None else row["tags"] for row in rows], made.field(n).type)
        if n == "tags"
        else column.dictionary_encode()
        if pa.types.is_dictionary(made.field(n).type)
        else column.cast(made.field(n).type)
        for n, column in zip(names, columns, strict=True)
    ]
    require_same(at, pa.table(casts, names=names))


def test_other_libraries_give_the_file_of_the_text(at, table):
    require_same(at, polars.from_arrow(table))
    require_same(at, duckdb.from_arrow(table))
    frame = table.to_pandas(types_mapper=pandas.ArrowDtype)
    require_same(at, frame)


def test_a_nan_of_pandas_is_missing(at):
    (at / "nan.csv").write_text(",s,,1.5,,0,4,x\n")
    convert = ["convert", "csv", "--quiet", "--schema", "schema.toml", "nan.csv", "nan.ldp"]
    subprocess.run([PROGRAM, *convert], check=True, cwd=at)
    frame = pandas.DataFrame(
        {"user": [float("nan")], "shop": ["s"], "age": [float("nan")], "price": [1.5],
         "tags": [None], "when": [0], "stars": [4]}
    )  # fmt: skip
    lazydp.convert(frame, at / "out.ldp", at / "nan.ldp")
    assert (at / "out.ldp").read_bytes() == (at / "nan.ldp").read_bytes()


def refused(at, source, **how):
    (at / "out.ldp").unlink(missing_ok=True)
    with pytest.raises(lazydp.UserError) as error:
        lazydp.convert(source, at / "out.ldp", at / "schema.toml", **how)
    assert not (at / "out.ldp").exists()
    return str(error.value)


def test_bad_tables_are_refused_in_words(at, table):
    assert "has no column 'shop', which the schema has" in refused(at, table.drop(["shop"]))
    assert "source is a list, which has no __arrow_c_stream__" in refused(at, [1, 2])
    assert "source is the path 'log.parquet'; read it first" in refused(at, "log.parquet")
    assert "there is not one example" in refused(at, table[:0])
    place = table.schema.get_field_index("age")
    nested = table.set_column(place, "age", pa.array([{"a": 1}] * ROWS))
    assert "column 'age' has the Arrow type '+s'" in refused(at, nested)
    deep = table.set_column(place, "age", pa.array([[[1]]] * ROWS))
    assert "column 'age' has the Arrow type '+l'" in refused(at, deep)
    lists = table.set_column(place, "age", pa.array([[1]] * ROWS))
    assert "row 1: age is a list; only a column of role multi" in refused(at, lists)
    twice = table.append_column("age", table["age"])
    assert "has the column 'age' twice" in refused(at, twice)
    words = table.set_column(place, "age", pa.array(["1", "old", None, "2"] * (ROWS // 4)))
    said = refused(at, words)
    assert "row 2: age is 'old'; it must be a number; row 6: " in said
    assert "at most 3 may be left out (max_bad_rows)" in refused(at, words, max_bad_rows=3)
    done = lazydp.convert(words, at / "out.ldp", at / "schema.toml", max_bad_rows=ROWS // 4)
    assert done.bad_rows == ROWS // 4
    assert done.examples == ROWS - done.bad_rows
    reader = table.to_reader()
    capsule = reader.__arrow_c_stream__()
    lazydp._native.convert(capsule, str(at / "out.ldp"), str(at / "schema.toml"))
    with pytest.raises(lazydp.UserError, match="the stream was read already"):
        lazydp._native.convert(capsule, str(at / "out.ldp"), str(at / "schema.toml"))


def test_a_number_that_stands_for_nothing_is_missing(at):
    schema = 'missing = ["", "-1"]\n' + (at / "schema.toml").read_text()
    (at / "minus.toml").write_text(schema)
    (at / "minus.csv").write_text("7,-1,-1,-1,-1,0,4,x\n-1,s,5,-1.5,a|-1,-1,4,x\n")
    convert = ["convert", "csv", "--quiet", "--schema", "minus.toml", "minus.csv", "minus.ldp"]
    subprocess.run([PROGRAM, *convert], check=True, cwd=at)
    columns = {"user": [7, -1], "shop": ["-1", "s"], "age": [-1, 5], "price": [-1.0, -1.5]}
    columns |= {"tags": [["-1"], ["a", "-1"]], "when": [0, -1], "stars": [4, 4]}
    lazydp.convert(pa.table(columns), at / "out.ldp", at / "minus.toml")
    assert (at / "out.ldp").read_bytes() == (at / "minus.ldp").read_bytes()


def test_bad_rows_leave_their_places_as_bad_lines_do(at, table):
    place = table.schema.get_field_index("age")
    lines = (at / "log.csv").read_text().splitlines()
    ages = [None if row["age"] is None else str(row["age"]) for row in table.to_pylist()]
    for row in (0, 4095, 4096, ROWS - 1):
        ages[row] = "old"
        fields = lines[row].split(",")
        lines[row] = ",".join([*fields[:2], "old", *fields[3:]])
    (at / "bad.csv").write_text("\n".join(lines))
    words = ["convert", "csv", "--quiet", "--max-bad-lines", "4", "--schema", "schema.toml"]
    subprocess.run([PROGRAM, *words, "bad.csv", "bad.ldp"], check=True, cwd=at)
    bad = table.set_column(place, "age", pa.array(ages))
    for source in (bad, bad.to_reader(max_chunksize=1000)):
        lazydp.convert(source, at / "out.ldp", at / "schema.toml", max_bad_rows=4)
        assert (at / "out.ldp").read_bytes() == (at / "bad.ldp").read_bytes()


def test_categories_are_what_a_served_model_takes_them_for(at):
    """Floats, spaces, truth values and times: convert and scoring_values write the same text."""
    when = datetime.datetime(2024, 2, 29, 12, 30, 15)
    values = {
        "floats": [3.0, 100000.0, 0.5, 1e-5, 1e17, 123456.75, -2.0, float("nan")],
        "singles": np.array([3.0, 1e6, 0.1, 1e-5, 1e17, 0.25, -2.0, np.nan], np.float32),
        "spaced": [" a", "b ", " ", "c d", "", " e ", "f", None],
        "time": [when, None] * 4,
    }
    schema = "".join(
        f'[[column]]\nname = "{name}"\nrole = "categorical"\nrows = 1000000\n'
        + ("bucket = 60\n" if name == "time" else "")
        for name in values
    )
    label = '[[column]]\nname = "y"\nrole = "label"\npositive_from = 1\n'
    (at / "values.toml").write_text(schema + label)
    table = pa.table({**values, "y": [1] * 8})
    lazydp.convert(table, at / "values.ldp", at / "values.toml")
    columns = [{"name": name, "role": "categorical"} for name in values]
    columns[-1]["bucket"] = 60
    texts = [texts_of(table[c["name"]].to_pylist(), c, True) for c in columns[:1] + columns[2:]]
    texts.insert(1, texts_of(values["singles"], columns[1], True))
    rows = zip(*[[t or "" for t in column] for column in texts], strict=True)
    (at / "values.csv").write_text("".join(",".join(row) + ",1\n" for row in rows))
    words = ["convert", "csv", "--quiet", "--schema", "values.toml", "values.csv", "text.values"]
    subprocess.run([PROGRAM, *words], check=True, cwd=at)
    assert (at / "values.ldp").read_bytes() == (at / "text.values").read_bytes()


@pytest.fixture(name="parquet", scope="module")
def program_that_reads_parquet(at, table):
    pq.write_table(table, at / "log.parquet", row_group_size=3000)
    words = ["convert", "parquet", "--quiet", "--schema", "schema.toml"]

    def run(*files, code=0):
        done = subprocess.run(
            [PROGRAM, *words, *files], check=False, cwd=at, capture_output=True, text=True
        )
        if "built without Arrow" in done.stderr:
            pytest.skip("the program was built without Arrow C++")
        assert done.returncode == code, done.stderr
        return done.stderr

    return run


def test_the_program_gives_the_file_of_the_text(at, table, parquet):
    parquet("log.parquet", "parquet.ldp")
    assert (at / "parquet.ldp").read_bytes() == (at / "text.ldp").read_bytes()
    pq.write_table(table, at / "plain.parquet", use_dictionary=False, compression="gzip")
    parquet("plain.parquet", "parquet.ldp")
    assert (at / "parquet.ldp").read_bytes() == (at / "text.ldp").read_bytes()
    pq.write_table(table[:6000], at / "one.parquet")
    pq.write_table(table[6000:], at / "two.parquet", compression="zstd")
    parquet("one.parquet", "two.parquet", "parquet.ldp")
    assert (at / "parquet.ldp").read_bytes() == (at / "text.ldp").read_bytes()


def test_the_program_refuses_what_is_no_parquet(at, table, parquet):
    assert "cannot read 'log.csv'" in parquet("log.csv", "none.ldp", code=2)
    assert "No such file" in parquet("nothing.parquet", "none.ldp", code=4)
    assert "it must be a file" in parquet("-", "none.ldp", code=2)
    whole = (at / "log.parquet").read_bytes()
    (at / "cut.parquet").write_bytes(whole[: len(whole) // 2])
    parquet("cut.parquet", "none.ldp", code=2)
    pq.write_table(table, at / "checked.parquet", write_page_checksum=True)
    whole = (at / "checked.parquet").read_bytes()
    (at / "hurt.parquet").write_bytes(whole[:20000] + b"\xff" * 50000 + whole[70000:])
    parquet("hurt.parquet", "none.ldp", code=4)
    pq.write_table(table.drop(["age"]), at / "less.parquet")
    said = parquet("log.parquet", "less.parquet", "none.ldp", code=2)
    assert "less.parquet has no column 'age', which the schema has" in said
    assert not (at / "none.ldp").exists()


def test_torch_is_not_needed(at, table):
    program = """
import sys
sys.modules["torch"] = sys.modules["numpy"] = None
import lazydp, duckdb
made = duckdb.sql("SELECT 1 AS y, 'a' AS u")
print(lazydp.convert(made, "small.ldp", "small.toml").examples)
"""
    (at / "small.toml").write_text(
        '[[column]]\nname = "u"\nrole = "categorical"\nrows = 9\n'
        '[[column]]\nname = "y"\nrole = "label"\npositive_from = 1\n'
    )
    said = subprocess.check_output([sys.executable, "-c", program], cwd=at, text=True)
    assert said == "1\n"


def test_an_error_of_the_source_is_told(at, table):
    def batches():
        yield table.to_batches()[0]
        raise ValueError("the line is dead")

    reader = pa.RecordBatchReader.from_batches(table.schema, batches())
    (at / "out.ldp").unlink(missing_ok=True)
    with pytest.raises(lazydp.IoError, match="the line is dead"):
        lazydp.convert(reader, at / "out.ldp", at / "schema.toml")
    assert not (at / "out.ldp").exists()


def test_a_salt_may_be_given(at, table):
    lazydp.convert(table, at / "salted.ldp", at / "schema.toml", salt=9)
    assert (at / "salted.ldp").read_bytes() != (at / "text.ldp").read_bytes()


def test_memory_does_not_grow_with_the_stream(at, table):
    """Two hundred times the table goes through in the memory of one."""
    program = f"""
import resource, sys
sys.path.insert(0, {str(Path(__file__).parent)!r})
import lazydp, pyarrow as pa, test_convert as t
table = pa.Table.from_pylist([row | {{"more": 1}} for row in t.made_up_rows()], schema=t.TYPES)
def run(times):
    batches = (batch for _ in range(times) for batch in table.to_batches())
    reader = pa.RecordBatchReader.from_batches(table.schema, batches)
    lazydp.convert(reader, sys.argv[1], sys.argv[2])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
first = run(20)
print(run(400) - first)
"""
    words = [sys.executable, "-c", program, at / "big.ldp", at / "schema.toml"]
    grown = int(subprocess.check_output(words).split()[-1])
    assert grown < 60_000, "KB"  # the data file alone has 250 MB
    assert (at / "big.ldp").stat().st_size > 150_000_000
