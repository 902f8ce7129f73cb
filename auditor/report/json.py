"""A report for machines: schema ``skillkeep/report-v1`` (``docs/schemas/report-v1.json``)."""

from __future__ import annotations

from typing import Any

from skillkeep.auditor.interface import SCHEMA, Report

__all__ = ["render_json", "report_schema"]


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
