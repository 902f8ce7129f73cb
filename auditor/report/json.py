"""A report for machines: ``skillkeep/report-v1`` (``docs/schemas/report-v1.json``), several as ``reports-v1``."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from skillkeep.auditor.interface import SCHEMA, Report
from skillkeep.auditor.report.interface import Audited, Format, Style, worst_verdict

__all__ = ["FORMAT", "SEVERAL", "json_document", "render_json", "report_schema"]

SEVERAL = "skillkeep/reports-v1"


def json_document(audited: Sequence[Audited]) -> dict[str, Any]:
    """One report as it is; several below `reports`, each with its `path`, and the worst verdict above."""
    if len(audited) == 1:
        return render_json(audited[0].report)
    reports = [{"path": each.label, **each.report.to_json()} for each in audited]
    return {"ok": True, "schema": SEVERAL, "verdict": worst_verdict(audited), "reports": reports}


def _render(audited: Sequence[Audited], _style: Style) -> str:
    return json.dumps(json_document(audited), ensure_ascii=True, indent=2, allow_nan=False)


FORMAT = Format("json", "everything, for machines", _render)


def render_json(report: Report) -> dict[str, Any]:
    """The object `auditor scan --json` prints: ``ok`` (the audit was made, whatever its verdict) and the report."""
    return {"ok": True, **report.to_json()}


def report_schema() -> dict[str, Any]:
    """The JSON Schema of `render_json`, made from the types; unknown keys are refused."""
    from pydantic import TypeAdapter

    schema = TypeAdapter(Report).json_schema(mode="serialization")
    schema["properties"] = {"ok": {"const": True}, **schema["properties"], "schema": {"const": SCHEMA}}
    for part in (schema, *schema.get("$defs", {}).values()):
        if part.get("type") == "object":
            part["additionalProperties"] = False
            part["required"] = sorted(part["properties"])
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": f"https://skillkeep.invalid/schemas/{SCHEMA.rpartition('/')[2]}.json",
        "title": "Report of an audit",
        **{key: value for key, value in schema.items() if key != "title"},
    }
