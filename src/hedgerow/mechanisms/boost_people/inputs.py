"""What a classifier is given: columns by name or by place, checked by their shape and names alone.

Values that come without a type of their own are kept as they are, one by one: a type inferred from all of
them would let one row change how every other row reads.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from hedgerow.errors import DomainMismatch
from hedgerow.queries.domain.attribute import Attribute, Categorical
from hedgerow.queries.domain.domain import Domain

if TYPE_CHECKING:
    from numpy.typing import NDArray

Columns = dict[str, Any]


def is_frame(data: Any) -> bool:
    """Whether columns have names: a pandas, polars or Arrow frame."""
    return hasattr(data, "columns") and hasattr(data, "shape")


def width_of(data: Any) -> int:
    """How many columns there are."""
    return len(names_of(data)) if is_frame(data) else _matrix(data).shape[1]


def names_of(data: Any) -> list[Any]:
    """The names of a frame's columns."""
    return list(getattr(data, "column_names", data.columns))


def columns_of(data: Any, features: Sequence[str]) -> Columns:
    """One array for each feature, by name from a frame, by place from a matrix."""
    if is_frame(data):
        names = [str(n) for n in names_of(data)]
        for feature in features:
            if feature not in names:
                raise DomainMismatch(f"the data has no column {feature!r}, which the domain declares")
        for name in names:
            if name not in features:
                raise DomainMismatch(f"the data has a column {name!r}, which is no declared feature")
        return {name: _real(data[original]) for name, original in zip(names, names_of(data), strict=True)}
    matrix = _matrix(data)
    if matrix.shape[1] != len(features):
        raise DomainMismatch(
            f"the data has {matrix.shape[1]} columns, but the domain declares {len(features)} features"
        )
    return {name: matrix[:, i] for i, name in enumerate(features)}


def classes_column(y: Any) -> Any:
    """The classes as one column."""
    if y is None:
        raise ValueError("This classifier requires y to be passed, but the target y is None.")
    if is_frame(y):
        if len(names_of(y)) != 1:
            raise ValueError("y should be a 1d array of classes")
        return _real(y[names_of(y)[0]])
    if _typed(y):
        return _real(y)
    column = _array(y)
    if column.ndim == 2 and column.shape[1] == 1:
        import warnings

        from hedgerow.mechanisms.boost_people.estimator import conversion_warning

        warnings.warn("A column-vector y was passed when a 1d array was expected.", conversion_warning(), 3)
        return column[:, 0]
    if column.ndim != 1:
        raise ValueError("y should be a 1d array of classes")
    if column.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    return _objects(map(_unwrapped, column)) if column.dtype.kind == "O" else column


def domain_for(
    domain: Any, label: str | None, classes: Any, data: Any | None, y: Any | None
) -> tuple[Domain, str]:
    """The domain with features and class, and the name of the class."""
    if isinstance(domain, Attribute):
        if classes is None:
            raise DomainMismatch("the classes must be declared: give classes=[...] or a domain that has them")
        names = [str(n) for n in names_of(data)] if is_frame(data) else None
        names = names or [f"x{i}" for i in range(width_of(data) if data is not None else 0)]
        label = label or "class"
        return Domain(dict.fromkeys(names, domain) | {label: Categorical(list(classes))}), label
    if not isinstance(domain, Domain):
        raise DomainMismatch("a classifier needs a declared domain; see Domain.load")
    if classes is not None:
        label = label or "class"
        if label in domain:
            raise DomainMismatch(f"the classes are declared twice, by classes=[...] and by {label!r}")
        return Domain(dict(domain.items()) | {label: Categorical(list(classes))}), label
    if label is None:
        name = getattr(y, "name", None)
        label = name if isinstance(name, str) and name in domain else list(domain)[-1]
    if label not in domain:
        raise DomainMismatch(f"the domain declares no class {label!r}")
    if data is not None and is_frame(data) and label in [str(n) for n in names_of(data)]:
        raise DomainMismatch(
            f"the domain declares no classes besides the data's own columns; {label!r} is one of them"
        )
    return domain, label


def _matrix(data: Any) -> Any:
    if hasattr(data, "tocsr"):
        raise TypeError("Sparse data was passed, but dense data is required; use .toarray()")
    matrix = _array(data)
    if matrix.dtype.kind == "c":
        raise ValueError("Complex data not supported")
    if matrix.ndim != 2:
        raise ValueError(f"Expected 2D array, got {matrix.ndim}D array instead. Reshape your data.")
    if matrix.shape[1] == 0:
        raise ValueError(f"0 feature(s) (shape={matrix.shape}) while a minimum of 1 is required.")
    return matrix


def _typed(values: Any) -> bool:
    """Whether it is a column with a type of its own that is no NumPy array: Arrow, polars, pandas."""
    import pyarrow as pa

    if (
        isinstance(values, (pa.Array, pa.ChunkedArray))
        or hasattr(values, "to_arrow")
        or hasattr(values, "iloc")
    ):
        return True
    return getattr(values, "ndim", None) == 1 and type(values).__module__.split(".")[0] == "pandas"


def _array(values: Any) -> NDArray[Any]:
    """An array of the input's own type, or of the objects as they are."""
    return np.asarray(values) if hasattr(values, "dtype") else np.asarray(values, dtype=object)


def _real(column: Any) -> Any:
    """The column, unless its type is of complex numbers, whatever they are."""
    dtype = getattr(column, "dtype", None)
    levels = getattr(getattr(dtype, "categories", None), "dtype", None)
    if "c" in (getattr(dtype, "kind", ""), getattr(levels, "kind", "")):
        raise ValueError("Complex data not supported")
    return column


def _objects(values: Iterable[Any]) -> NDArray[Any]:
    return np.fromiter(values, dtype=object)


def _unwrapped(value: Any) -> Any:
    """A class in brackets of its own is that class, whatever the other rows have."""
    return value[0] if isinstance(value, (list, tuple)) and len(value) == 1 else value
