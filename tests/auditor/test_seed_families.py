"""HP3: every FAIL and WARN family the Hermes seed names, in every language where it makes sense."""

from __future__ import annotations

import pytest
from support.audited import audited

from skillkeep.auditor.interface import Verdict

LONG = "QWxsIHdvcmsgYW5kIG5vIHBsYXkgbWFrZXMgSmFjayBhIGR1bGwgYm95Lg" * 12
BLOCKING = {
    "eval": {
        "a.ps1": "Invoke-Expression $text\n",
        "a.rb": "eval(text)\n",
        "a.py": "eval(text)\n",
        "a.js": "eval(text);\n",
        "a.sh": 'eval "$text"\n',
    },
    "exec": {
        "a.ps1": "& ([scriptblock]::Create($text))\n",
        "a.rb": "exec text\n",
        "a.py": "exec(text)\n",
        "a.js": "new Function(text)();\n",
        "a.sh": 'bash -c "$text"\n',
    },
    "os.system": {
        "a.ps1": "cmd /c $text; powershell -Command $text\n",
        "a.rb": 'system("ls #{text}")\n',
        "a.py": "import os\nos.system(text)\n",
    },
    "shell=True": {
        "a.py": "import subprocess\nsubprocess.run(text, shell=True)\n",
        "a.js": "require('child_process').spawn(text, {shell: true});\n",
    },
    "pickle.loads": {"a.rb": "Marshal.load(data)\n", "a.py": "import pickle\npickle.loads(data)\n"},
    "__import__": {"a.py": "__import__(name)\n"},
    "child_process.exec": {
        "a.js": "const cp = require('child_process');\ncp.exec(text);\n",
        "a.ts": "import { execSync } from 'node:child_process';\nexecSync(text as string);\n",
    },
    "backticks": {"a.sh": "`cat commands.txt`\n", "a.rb": "out = `ls #{folder}`\n"},
    "decoded payload into exec": {
        "a.ps1": "iex ([Text.Encoding]::UTF8.GetString([Convert]::FromBase64String($payload)))\n",
        "a.rb": "eval(Base64.decode64(payload))\n",
        "a.py": "import base64\nexec(base64.b64decode(payload))\n",
        "a.js": "eval(Buffer.from(payload, 'base64').toString());\n",
        "a.sh": "echo ZWNobyBoaQ== | base64 -d | sh\n",
        "b.py": "exec(bytes.fromhex(payload))\n",
    },
    "long opaque literal": {
        "a.ps1": f"$x = '{LONG}'\n",
        "a.rb": f"x = '{LONG}'\n",
        "a.py": f"x = '{LONG}'\n",
        "a.js": f"const x = '{LONG}';\n",
        "a.sh": f"x={LONG}\n",
    },
    "aws credentials": {
        "a.ps1": "Get-Content ~/.aws/credentials\n",
        "a.rb": "File.read(Dir.home + '/.aws/credentials')\n",
        "a.py": "open('/home/u/.aws/credentials').read()\n",
        "a.js": "fs.readFileSync(os.homedir() + '/.aws/credentials');\n",
        "a.sh": "cat ~/.aws/credentials\n",
    },
    "ssh": {
        "a.ps1": "Copy-Item ~/.ssh x -Recurse\n",
        "a.rb": "Dir.glob('~/.ssh/*')\n",
        "a.py": "from pathlib import Path\n(Path.home() / '.ssh' / 'config').read_text()\n",
        "a.js": "fs.readdirSync(`${process.env.HOME}/.ssh`);\n",
        "a.sh": 'tar c "$HOME/.ssh" > x\n',
    },
    "id_rsa": {
        "a.ps1": "[IO.File]::ReadAllText('id_rsa')\n",
        "a.rb": "File.read('id_rsa')\n",
        "a.py": "open('id_rsa').read()\n",
        "a.sh": "cp ~/.ssh/id_rsa /tmp/x\n",
    },
    "netrc": {
        "a.ps1": "gc ~/.netrc\n",
        "a.rb": "IO.readlines(ENV['HOME'] + '/.netrc')\n",
        "a.py": "import os\nopen(os.path.expanduser('~/.netrc')).read()\n",
        "a.sh": "cat ~/.netrc\n",
    },
    "GitHub CLI": {
        "a.ps1": "gc ~/.config/gh/hosts.yml\n",
        "a.rb": "File.read('/home/u/.config/gh/hosts.yml')\n",
        "a.py": "open('/home/u/.config/gh/hosts.yml').read()\n",
        "a.sh": "cat ~/.config/gh/hosts.yml\n",
    },
    "keychain": {
        "a.ps1": "cmdkey /list\n",
        "a.rb": "`security find-generic-password -wa x`\n",
        "a.py": "import subprocess\nsubprocess.run(['security', 'find-generic-password', '-wa', 'x'])\n",
        "a.sh": "security find-generic-password -wa x\n",
    },
    "browser cookies": {
        "a.ps1": 'Copy-Item "$env:LOCALAPPDATA/Google/Chrome/User Data/Default/Cookies" x\n',
        "a.rb": "FileUtils.cp('/home/u/.mozilla/firefox/x/cookies.sqlite', 'x')\n",
        "a.py": "import sqlite3\nsqlite3.connect('/home/u/.config/google-chrome/Default/Cookies')\n",
        "a.sh": "cp ~/.mozilla/firefox/x.default/cookies.sqlite /tmp/x\n",
    },
    "*_TOKEN": {
        "a.ps1": "Write-Host $env:X_TOKEN\n",
        "a.rb": "puts ENV['X_TOKEN']\n",
        "a.py": "import os\nos.getenv('X_TOKEN')\n",
        "a.js": "use(process.env.X_TOKEN);\n",
        "a.sh": "echo $X_TOKEN\n",
    },
    "*_KEY": {
        "a.ps1": "[Environment]::GetEnvironmentVariable('X_KEY')\n",
        "a.rb": "ENV.fetch('X_KEY')\n",
        "a.py": "import os\nos.environ['X_KEY']\n",
        "a.ts": "use(process.env['X_KEY'] as string);\n",
        "a.sh": "echo ${X_KEY}\n",
    },
    "*_SECRET": {
        "a.ps1": "$x = ${env:X_SECRET}\n",
        "a.rb": "puts ENV['X_SECRET']\n",
        "a.py": "from os import environ\nenviron.get('X_SECRET')\n",
        "a.js": "const {X_SECRET} = process.env;\n",
    },
    "*_PASSWORD": {
        "a.ps1": '"-p$env:X_PASSWORD"\n',
        "a.rb": "puts ENV.fetch('X_PASSWORD', nil)\n",
        "a.py": "import os\nos.environ.get('X_PASSWORD')\n",
        "a.sh": 'echo "$X_PASSWORD"\n',
    },
}
WARNING = {
    "requests.post": {
        "a.ps1": "Invoke-RestMethod https://example.invalid -Method Post -Body 'a'\n",
        "a.rb": "Net::HTTP.post(URI('https://example.invalid'), 'a')\n",
        "a.py": "import requests\nrequests.post('https://example.invalid', data=b'')\n",
    },
    "urllib": {
        "a.ps1": "iwr https://example.invalid\n",
        "a.rb": "URI.open('https://example.invalid').read\n",
        "a.py": "from urllib.request import urlopen\nurlopen('https://example.invalid')\n",
    },
    "raw sockets": {
        "a.rb": "TCPSocket.new('example.invalid', 80)\n",
        "a.py": "import socket\ns = socket.socket()\ns.connect(('example.invalid', 80))\n",
        "a.js": "require('net').connect(80, 'example.invalid');\n",
    },
    "fetch()": {"a.js": "fetch('https://example.invalid');\n", "a.ts": "await fetch('https://example.invalid');\n"},
    "hard-coded IP": {
        "a.ps1": "iwr http://233.252.0.7/x\n",
        "a.rb": "Net::HTTP.get(URI('http://233.252.0.7/x'))\n",
        "a.py": "import requests\nrequests.get('http://233.252.0.7/x')\n",
        "a.sh": "curl http://233.252.0.7/x\n",
    },
    "curl": {
        "a.ps1": "curl.exe -o a.json https://example.invalid/a.json\n",
        "a.rb": "system('curl -o a.json https://example.invalid/a.json')\n",
        "a.sh": "curl -o a.json https://example.invalid/a.json\n",
    },
    "wget": {"a.sh": "wget https://example.invalid/a.json\n"},
}


def _cases(families: dict[str, dict[str, str]]) -> list[object]:
    return [
        pytest.param(name, text, id=f"{family}-{name}")
        for family, files in families.items()
        for name, text in files.items()
    ]


@pytest.mark.parametrize(("name", "text"), _cases(BLOCKING))
def test_a_family_that_blocks_blocks_in_a_file(name: str, text: str) -> None:
    assert audited({"SKILL.md": "# Tool\n", name: text}).verdict is Verdict.FAIL


@pytest.mark.parametrize(("name", "text"), _cases(WARNING))
def test_a_family_that_warns_warns_and_no_more(name: str, text: str) -> None:
    assert audited({"SKILL.md": "# Tool\n", name: text}).verdict is Verdict.WARN


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.py", "import os\nos.system('clear')\n"),
        ("a.py", "model.eval()\n"),
        ("a.py", "import re\nre.compile('a')\n"),
        ("a.py", "# eval(x), os.system(x)\nprint('never call eval(x)')\n"),
        ("a.js", "const m = /a(b)/.exec(text);\n"),
        ("a.js", "const s = `a template ${text}`;\n"),
        ("a.rb", "object.instance_eval { go }\nputs 'eval(x)'\n"),
        ("a.ps1", "Write-Host 'Invoke-Expression'\n"),
        ("a.sh", 'now=$(date)\necho "$now"\n'),
        ("SKILL.md", "# Safety\n\nThe functions eval() and exec() are dangerous, and ~/.ssh holds keys.\n"),
        ("SKILL.md", "# Tokens\n\nA context window of 200k tokens; the primary_key of a table.\n"),
    ],
)
def test_what_only_looks_alike_passes(name: str, text: str) -> None:
    assert audited({"README.md": "# Tool\n", name: text}).verdict is Verdict.PASS
