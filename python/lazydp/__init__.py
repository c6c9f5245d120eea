"""LazyDP for PyTorch: Opacus' PrivacyEngine, with embedding tables of any size.

from lazydp import PrivacyEngine  # was: from opacus import PrivacyEngine

A name is imported when it is first used, so that a program which only scores (`lazydp.load`) needs
NumPy, and one that only converts (`lazydp.convert`) not even that, and neither torch.
"""

from importlib import import_module as _import_module
from importlib.metadata import version as _version
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from lazydp import privacy
    from lazydp._native import InternalError, IoError, PrivacyError, UserError
    from lazydp.auditing import AuditResult, audit, audit_one_run
    from lazydp.converting import convert
    from lazydp.serving.onnx_export import export_onnx, onnx_inputs
    from lazydp.serving.served_model import ServedModel, load
    from lazydp.tables.table_sgd import sgd_group
    from lazydp.training.adaptive import PrivacyEngineAdaptiveClipping
    from lazydp.training.engine import PrivacyEngine

__version__ = _version("lazydp")

_WITHOUT_TORCH = {
    "InternalError": "lazydp._native",
    "IoError": "lazydp._native",
    "PrivacyError": "lazydp._native",
    "UserError": "lazydp._native",
    "convert": "lazydp.converting",
    "ServedModel": "lazydp.serving.served_model",
    "export_onnx": "lazydp.serving.onnx_export",
    "onnx_inputs": "lazydp.serving.onnx_export",
    "load": "lazydp.serving.served_model",
}
_WITH_TORCH = {
    "AuditResult": "lazydp.auditing",
    "audit": "lazydp.auditing",
    "audit_one_run": "lazydp.auditing",
    "PrivacyEngine": "lazydp.training.engine",
    "PrivacyEngineAdaptiveClipping": "lazydp.training.adaptive",
    "sgd_group": "lazydp.tables.table_sgd",
}
__all__ = [
    "AuditResult",
    "InternalError",
    "IoError",
    "PrivacyEngine",
    "PrivacyEngineAdaptiveClipping",
    "PrivacyError",
    "ServedModel",
    "UserError",
    "audit",
    "audit_one_run",
    "convert",
    "export_onnx",
    "load",
    "onnx_inputs",
    "privacy",
    "sgd_group",
]


def __getattr__(name: str) -> object:
    if name == "privacy":
        return _import_module("lazydp.privacy")
    if name in _WITH_TORCH:
        _import_module("torch")  # its OpenMP threads come first, so that the extension shares them
    elif name not in _WITHOUT_TORCH:
        raise AttributeError(f"module 'lazydp' has no attribute '{name}'")
    module = _import_module((_WITH_TORCH | _WITHOUT_TORCH)[name])
    value: object = getattr(module, name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
