"""What a rule refers to: its own references, its class in the OWASP Agentic Skills Top 10, and their addresses."""

from __future__ import annotations

import re

from skillkeep.auditor.compiled import compiled
from skillkeep.auditor.rulebook import Rule

__all__ = ["address_of", "references_of"]

_SKILLS_TOP_10 = {
    "execution": "OWASP AST01",
    "obfuscation": "OWASP AST01",
    "credentials": "OWASP AST01",
    "persistence": "OWASP AST01",
    "destructive": "OWASP AST01",
    "supply-chain": "OWASP AST02",
    "egress": "OWASP AST03",
    "privilege": "OWASP AST03",
    "autorun": "OWASP AST03",
    "tree": "OWASP AST04",
    "instructions": "OWASP AST05",
    "weakness": "OWASP AST06",
    "audit": "OWASP AST08",
}
_ADDRESSES = (
    (compiled(r"CWE-(\d+)"), "https://cwe.mitre.org/data/definitions/{0}.html"),
    (compiled(r"ATT&CK (T\d+)"), "https://attack.mitre.org/techniques/{0}/"),
    (compiled(r"ATT&CK (T\d+)\.(\d+)"), "https://attack.mitre.org/techniques/{0}/{1}/"),
    (compiled(r"ATLAS (AML\.T\d+(?:\.\d+)?)"), "https://atlas.mitre.org/techniques/{0}"),
    (compiled(r"(CVE-\d{4}-\d+)"), "https://www.cve.org/CVERecord?id={0}"),
    (compiled(r"OWASP AST\d+"), "https://owasp.org/www-project-agentic-skills-top-10/"),
    (compiled(r"OWASP LLM\d+"), "https://genai.owasp.org/llm-top-10/"),
    (compiled(r"PEP (\d+)"), "https://peps.python.org/pep-{0:0>4}/"),
)


def references_of(rule: Rule) -> tuple[str, ...]:
    """The rule's own references, then its class in the OWASP Agentic Skills Top 10 unless it names one itself."""
    if any(reference.startswith("OWASP AST") for reference in rule.references):
        return rule.references
    return (*rule.references, _SKILLS_TOP_10[rule.category])


def address_of(reference: str) -> str:
    """The page of a reference such as ``CWE-78`` or ``ATT&CK T1059.004``; empty when it is of no known kind."""
    for pattern, address in _ADDRESSES:
        if found := pattern.fullmatch(reference):
            return address.format(*found.groups())
    return reference if re.fullmatch(r"https://[\x21-\x7e]+", reference) else ""
