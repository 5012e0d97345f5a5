"""A pytest kit that checks model transports, negotiators and tool providers against the treelang contract.

Names are imported when they are first used: pytest loads this package in every run of every project that has it
installed.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from treelang_conformance.endpoint import Endpoint
    from treelang_conformance.expectations import ExpectedFailure
    from treelang_conformance.hosting import CannotHost, HostedTool
    from treelang_conformance.report import Report, load_report
    from treelang_conformance.runner import run
    from treelang_conformance.subject import NegotiatorSubject, Subject, ToolProviderSubject
    from treelang_conformance.suite import FallbackSuite, NegotiatorSuite, ToolProviderSuite, TransportSuite

__all__ = [
    "CannotHost",
    "Endpoint",
    "ExpectedFailure",
    "FallbackSuite",
    "HostedTool",
    "NegotiatorSubject",
    "NegotiatorSuite",
    "Report",
    "Subject",
    "ToolProviderSubject",
    "ToolProviderSuite",
    "TransportSuite",
    "load_report",
    "run",
]

_MODULES = {
    "CannotHost": "hosting",
    "Endpoint": "endpoint",
    "ExpectedFailure": "expectations",
    "FallbackSuite": "suite",
    "HostedTool": "hosting",
    "NegotiatorSubject": "subject",
    "NegotiatorSuite": "suite",
    "Report": "report",
    "Subject": "subject",
    "ToolProviderSubject": "subject",
    "ToolProviderSuite": "suite",
    "TransportSuite": "suite",
    "load_report": "report",
    "run": "runner",
}


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
