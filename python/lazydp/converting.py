"""Tables in memory, or streamed from files, become data files."""

import os
from typing import Any, Protocol

from lazydp import _native
from lazydp._native import Conversion


class ArrowStreamSource(Protocol):
    """What pyarrow, polars, DuckDB and pandas hand tables over by."""

    def __arrow_c_stream__(self, requested_schema: Any = None) -> Any:
        """Return a capsule with the table as a stream of batches."""
        ...


def convert(
    source: ArrowStreamSource,
    out: str | os.PathLike[str],
    schema: str | os.PathLike[str],
    *,
    salt: int | None = None,
    max_bad_rows: int = 0,
) -> Conversion:
    """Make the data file `out` of a table, as `lazydp convert` does of a log.

    `source` is anything with `__arrow_c_stream__`: a pyarrow table or record batch reader, a polars
    or pandas data frame, a DuckDB relation. A reader is read batch by batch, in constant memory.
    `schema` is a file: TOML, or a data file whose schema is taken. Columns are found by name; the
    same values give the same file as through `lazydp convert csv`.

    Raises UserError, and writes nothing, if more than `max_bad_rows` rows are no examples.
    """
    stream = getattr(source, "__arrow_c_stream__", None)
    if isinstance(source, (str, os.PathLike)):
        raise _native.UserError(
            f"source is the path '{os.fspath(source)}'; read it first: "
            "pyarrow.dataset.dataset(path).scanner().to_reader() reads Parquet batch by batch"
        )
    if stream is None:
        raise _native.UserError(
            f"source is a {type(source).__name__}, which has no __arrow_c_stream__; it must be a "
            "table or reader of pyarrow, polars, DuckDB or pandas 2.2"
        )
    done = _native.convert(
        stream(), os.fspath(out), os.fspath(schema), salt=salt, max_bad_rows=max_bad_rows
    )
    if done.stopped:
        first = "; ".join(f"row {bad.row}: {bad.reason}" for bad in done.first_bad)
        raise _native.UserError(
            f"there are bad rows ({done.bad_rows} in the first {done.rows}), and at most "
            f"{max_bad_rows} may be left out (max_bad_rows); nothing was written: {first}"
        )
    return done
