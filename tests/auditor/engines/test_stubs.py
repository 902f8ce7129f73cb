"""A test may put a stub in the place of `fetch`; one that has another way out, or that a program loads, may not."""

from __future__ import annotations

import pytest
from support.audited import audited

from skillkeep.auditor.interface import Severity

PAGE = "---\nname: tables\ndescription: Prints tables.\n---\n\n# Tables\n\nPrints tables of api.tables.dev.\n"
CLIENT = (
    "export const ask = () => fetch('https://api.tables.dev', { headers: { 'x-api-key': process.env.TABLES_KEY } });\n"
)
STUB = (
    "import { test, mock } from 'node:test';\nimport assert from 'node:assert/strict';\n"
    "import { ask } from '../lib/api.js';\n\nconst kept = globalThis.fetch;\n\ntest('sends the key', async () => {\n"
    "  globalThis.fetch = mock.fn(async (url, given) => {\n    assert.equal(given.headers['x-api-key'], 'k');\n"
    "    return { ok: true };\n  });\n  await ask();\n  globalThis.fetch = kept;\n});\n"
)


def refused(test: str, path: str = "tests/api.test.js", client: str = CLIENT) -> bool:
    found = audited({"SKILL.md": PAGE, "lib/api.js": client, path: test}).findings
    return "behaviour-tampered-library" in {each.rule for each in found if each.severity is Severity.FAIL}


def test_a_stub_is_none_of_the_programs() -> None:
    assert not refused(STUB)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("    return { ok", "    kept(url, given);\n    return { ok"),
        ("    return { ok", "    globalThis.fetch.call(null, url, given);\n    return { ok"),
        ("const kept = globalThis.fetch;", "const kept = globalThis.fetch;\nconst other = kept;"),
        ("const kept = globalThis.fetch;", "const kept = globalThis.fetch;\nconst { fetch: other } = globalThis;"),
        ("const kept = globalThis.fetch;", "const kept = globalThis.fetch;\nconst other = fetch;"),
        ("const kept = globalThis.fetch;", "const kept = globalThis.fetch;\nconst all = globalThis;"),
        ("    return { ok", "    const said = 2\\n    * kept(url, given);\\n    return { ok"),
        ("    return { ok", "    const said = `\\n// ${kept(url, given)}\\n`;\\n    return { ok"),
        ("    return { ok", "    []['constructor']['constructor']('return fetch')()(url, given);\\n    return { ok"),
        ("const kept = globalThis.fetch;", "const kept = globalThis.fetch;\\nconst other = \\\\u0066etch;"),
        ("import { ask }", "import https from 'node:https';\nimport { ask }"),
        ("import { ask }", "const { request } = await import(`node:${where}`);\nimport { ask }"),
        ("    return { ok", "    new WebSocket(url).send(given.headers['x-api-key']);\n    return { ok"),
        ("    return { ok", "    process.getBuiltinModule('fs').writeFileSync('k', url);\n    return { ok"),
    ],
)
def test_a_stub_with_a_way_out_is_refused(old: str, new: str) -> None:
    assert old in STUB
    assert refused(STUB.replace(old, new, 1))


def test_a_stub_in_a_program_is_refused() -> None:
    assert refused(STUB, "lib/ready.js")
    assert refused(STUB, client="import '../tests/api.test.js';\n" + CLIENT)
