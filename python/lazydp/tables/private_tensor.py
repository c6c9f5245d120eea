"""A private table as PyTorch sees it: every operation that reads its values finds them settled."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Iterable
from multiprocessing.reduction import ForkingPickler
from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.multiprocessing.reductions import reduce_tensor
from torch.utils._pytree import tree_leaves, tree_map_only

from lazydp._native import UserError

_aten = torch.ops.aten
# Operations whose arguments name the rows that they read: the weight comes first, then ids.
_BY_IDS = {
    _aten.embedding.default: lambda args: args[1],
    _aten.index_select.default: lambda args: args[2] if args[1] == 0 else None,
    _aten.index.Tensor: lambda args: args[1][0] if len(args[1]) == 1 else None,
}

_NUMBERS = (torch.int32, torch.int64)
_shown: dict[int, weakref.WeakSet[Any]] = {}  # tables by the address of the storage they lie in


class RowOwner(Protocol):
    """The table that a tensor of private rows belongs to."""

    rows: int
    dim: int

    def settle_all(self) -> None:
        """Bring every row up to date."""

    def settle_ids(self, ids: Tensor) -> None:
        """Bring the rows with these numbers up to date."""


class PrivateTensor(torch.Tensor):
    """A weight, a momentum, or a part of one, whose rows may still be owed noise.

    Its memory cannot be reached through PyTorch: shapes are free, an operation that reads values
    settles the rows first, a view is another PrivateTensor, and copies are plain tensors. So a
    state_dict that is kept shows the live table, as it does in PyTorch, and shows it with all of
    its noise. An operation that writes settles first, too: the rows that it leaves owe nothing.
    """

    _memory: Tensor
    _owner: RowOwner
    _first: int  # offset of row 0 in the storage

    @staticmethod
    def __new__(cls, memory: Tensor, owner: RowOwner, first: int | None = None) -> PrivateTensor:
        """Show `memory`: a table's, or a view of it that says where the table begins."""
        shown: PrivateTensor = torch.Tensor._make_wrapper_subclass(  # type: ignore[attr-defined]
            cls,
            memory.shape,
            strides=memory.stride(),
            storage_offset=memory.storage_offset(),
            dtype=memory.dtype,
            device=memory.device,
        )
        # torch._C._to_dlpack asks no subclass: without this it gives the address 0.
        torch._C._set_throw_on_mutable_data_ptr(shown)  # type: ignore[attr-defined]
        shown._memory = memory
        shown._owner = owner
        shown._first = int(memory.storage_offset()) if first is None else first
        return shown

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Settle the rows that `func` reads, and run it on the memory itself."""
        shown = [t for t in tree_leaves((args, kwargs)) if isinstance(t, PrivateTensor)]
        if func._schema.name == "aten::set_":  # another tensor would be given the memory
            shown[0]._stays()
        if not (func.is_view or _makes_anew(func)):
            for one in shown:
                one._settle(func, args)
        plain_args, plain_kwargs = tree_map_only(
            PrivateTensor, lambda t: t._memory, (args, kwargs or {})
        )
        result = func(*plain_args, **plain_kwargs)
        return tree_map_only(Tensor, lambda out: _outside(out, shown), result)

    def _settle(self, func: Any = None, args: tuple[Any, ...] = ()) -> None:
        """Settle the rows that this tensor covers, or those of them that `func` names."""
        memory, rows, dim = self._memory, self._owner.rows, self._owner.dim
        as_table = memory.shape == (rows, dim) and memory.is_contiguous()
        as_table = as_table and memory.dtype == torch.float32
        ids = None
        if not as_table:
            ids = self._rows()
        elif func in _BY_IDS and args[0] is self:
            ids = _BY_IDS[func](args)  # type: ignore[no-untyped-call]
        if ids is None or ids.dtype not in _NUMBERS:  # torch reads bytes as a mask
            self._settle_all()
        else:
            self._owner.settle_ids(ids)
            self._settle_successors()

    def _settle_all(self) -> None:
        """Settle every row of the table."""
        self._owner.settle_all()
        self._settle_successors()

    def _settle_successors(self) -> None:
        """Settle the tables that this memory belongs to since its own table was released."""
        tables = _shown.get(self._memory.untyped_storage().data_ptr())
        if tables and self._owner not in tables:
            for table in list(tables):
                table.settle_all()

    def _rows(self) -> Tensor | None:
        """Return the rows from the first to the last that a view covers; None if they are many."""
        view = self._memory
        if view.numel() == 0:
            return torch.empty(0, dtype=torch.int64)
        size, row = view.element_size(), 4 * self._owner.dim  # in bytes: it may be of another type
        begin = view.storage_offset() * size - 4 * self._first
        last = (
            begin + sum((n - 1) * s for n, s in zip(view.shape, view.stride(), strict=True)) * size
        )
        first_row, last_row = begin // row, (last + size - 1) // row
        few = 4 * (last_row - first_row) < self._owner.rows
        return torch.arange(first_row, last_row + 1) if few else None

    def _copy(self) -> Tensor:
        """Return a plain, settled copy."""
        self._settle()
        return self._memory.clone()

    # PyTorch does not dispatch the following methods.

    @property
    def data(self) -> Tensor:  # type: ignore[override]
        """The detached tensor, which is still private."""
        return self.detach()

    @data.setter
    def data(self, value: Tensor) -> None:
        if value.shape != self.shape:
            raise UserError(
                f"a private table of shape {list(self.shape)} was given data of shape "
                f"{list(value.shape)}; its memory stays, so the shapes must agree"
            )
        with torch.no_grad():
            self.copy_(value)

    def numpy(self, *args: Any, **kwargs: Any) -> Any:
        """Return a copy: an array that shared the memory would show rows without their noise."""
        return self._copy().numpy(*args, **kwargs)

    def tolist(self) -> Any:
        """Return the values as nested lists."""
        return self._copy().tolist()  # type: ignore[no-untyped-call]

    def __array__(self, *args: Any, **kwargs: Any) -> Any:
        """Return a copy, as numpy() does."""
        return self._copy().__array__(*args, **kwargs)  # type: ignore[no-untyped-call]

    def __dlpack__(self, **kwargs: Any) -> Any:
        """Return a copy, as numpy() does."""
        return self._copy().__dlpack__(**kwargs)

    def data_ptr(self) -> int:
        """Settle now, and return the memory's address. Reading it after a step voids the claim."""
        self._settle()
        return self._memory.data_ptr()

    def untyped_storage(self) -> Any:
        """Settle now, and return the memory. Reading it after a step voids the claim."""
        self._settle_all()
        return self._memory.untyped_storage()

    def storage(self) -> Any:
        """Settle now, and return the memory. Reading it after a step voids the claim."""
        self._settle_all()
        return self._memory.storage()  # type: ignore[no-untyped-call]

    def _stays(self, *args: Any, **kwargs: Any) -> Any:
        raise UserError(
            "a private table's memory can't be replaced or shared; copy into it, weight.copy_(…), "
            "or release the model first"
        )

    set_ = resize_ = share_memory_ = _stays  # type: ignore[assignment]

    def __copy__(self) -> Tensor:
        """Copy deeply: a second tensor on the same memory would not settle."""
        return self.__deepcopy__({})

    def __deepcopy__(self, memo: dict[int, Any]) -> Tensor:
        """Return a plain, settled copy, which is a parameter if this is one."""
        copied = self._copy()
        if isinstance(self, nn.Parameter):
            copied = nn.Parameter(copied, self.requires_grad)
        memo[id(self)] = copied
        return copied

    def __reduce_ex__(self, protocol: Any) -> Any:
        """Pickle a plain tensor: the file does not name this package."""
        self._settle_all()
        memory = self._memory
        if memory.untyped_storage().nbytes() != memory.numel() * memory.element_size():
            memory = memory.clone()  # a part would take all of its storage along
        if isinstance(self, nn.Parameter):
            memory = nn.Parameter(memory, self.requires_grad)
        return memory.__reduce_ex__(protocol)  # type: ignore[no-untyped-call]

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        """Return the text of the tensor that it shows."""
        self._settle()
        return f"PrivateTensor({self._memory!r})"


def _makes_anew(func: Any) -> bool:
    """Return whether `func` needs only its argument's shape."""
    name = func._schema.name.removeprefix("aten::")
    return bool(name.endswith("_like") or name.startswith("new_"))


def _outside(out: Tensor, shown: Iterable[PrivateTensor]) -> Tensor:
    """Return a result as it may leave: as a PrivateTensor if it lies in private memory."""
    for one in shown:
        if out is one._memory:
            return one
        if out.untyped_storage().data_ptr() == one._memory.untyped_storage().data_ptr():
            with torch.inference_mode(False):
                return PrivateTensor(out, one._owner, one._first)
    return out


def _reduce_for_process(shown: PrivateTensor) -> Any:
    """Send a copy to another process, because torch would move the memory to share it."""
    return reduce_tensor(shown._copy())  # type: ignore[no-untyped-call]


ForkingPickler.register(PrivateTensor, _reduce_for_process)


def show(parameter: nn.Parameter, owner: RowOwner) -> Tensor:
    """Turn the parameter, wherever it is held, into a PrivateTensor, and return its memory.

    The object stays the same, so modules, optimizers and the user's own references follow.
    """
    parameter.grad = None
    memory = parameter.detach()
    shown: Any = PrivateTensor(memory, owner).requires_grad_(parameter.requires_grad)
    shown._is_param = True
    _swap(parameter, shown)
    _shown.setdefault(memory.untyped_storage().data_ptr(), weakref.WeakSet()).add(owner)
    return memory


def hide(parameter: Any) -> nn.Parameter:
    """Undo show(), and return the parameter as a plain one with the same memory.

    It is the same object, unless something holds it weakly; then it is another one.
    """
    if not isinstance(parameter, PrivateTensor):
        return parameter  # type: ignore[no-any-return]
    parameter.grad = None
    address = parameter._memory.untyped_storage().data_ptr()
    _shown[address].discard(parameter._owner)
    if not _shown[address]:
        del _shown[address]
    plain = nn.Parameter(parameter._memory, parameter.requires_grad)
    try:
        _swap(parameter, plain)
    except UserError:
        return plain
    return parameter  # type: ignore[return-value]


def _swap(parameter: Any, other: Any) -> None:
    attributes = {k: v for k, v in parameter.__dict__.items() if not k.startswith("_")}
    try:
        if weakref.getweakrefs(parameter):
            gc.collect()  # a trace that has ended may hold it
        torch.utils.swap_tensors(parameter, other)  # type: ignore[no-untyped-call]
    except RuntimeError as e:
        raise UserError(
            "the weight of a table is still held by an earlier forward pass, or weakly by a "
            f"compiled or exported model; delete those first (torch says: {e})"
        ) from e
    parameter.__dict__.update(attributes)
