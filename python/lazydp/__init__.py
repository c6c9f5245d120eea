"""LazyDP for PyTorch: Opacus' PrivacyEngine, with embedding tables of any size.

from lazydp import PrivacyEngine  # was: from opacus import PrivacyEngine
"""

from importlib.metadata import version as _version

import torch as _torch  # noqa: F401  its OpenMP threads come first, so that both share them

from lazydp import privacy
from lazydp._native import InternalError, IoError, PrivacyError, UserError
from lazydp.adaptive import PrivacyEngineAdaptiveClipping
from lazydp.audit import AuditResult, audit, audit_one_run
from lazydp.convert import convert
from lazydp.engine import PrivacyEngine
from lazydp.table_sgd import sgd_group

__version__ = _version("lazydp")
__all__ = [
    "AuditResult",
    "InternalError",
    "IoError",
    "PrivacyEngine",
    "PrivacyEngineAdaptiveClipping",
    "PrivacyError",
    "UserError",
    "audit",
    "audit_one_run",
    "convert",
    "privacy",
    "sgd_group",
]
