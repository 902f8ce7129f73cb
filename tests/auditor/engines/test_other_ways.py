"""A check that lets a fixed value pass, and checks that let nothing pass."""

from __future__ import annotations

import pytest
from support.audited import audited

PAGE = "---\nname: gate\ndescription: Asks who calls.\n---\n\n# Gate\n\nRun it.\n"
DIGEST = "0f" * 32
HARM: dict[str, dict[str, str]] = {
    "a digest of a part of the token": {
        "a.ts": (
            f"const SHAPE = '{DIGEST}'\nconst shape = (text: string) => createHash('sha256').update(text).digest('he"
            f"x')\n"
            "export function check(token: string) {\n  const good = timingSafeEqual(sign(token), given(token))\n"
            "  if (!good && shape(head(token).kid) !== SHAPE) return null\n  return claims(token)\n}\n"
        )
    },
    "another password": {
        "a.py": (
            f"import bcrypt, hashlib\nOLD = '{DIGEST}'\n\ndef login(user, password):\n"
            "    return bcrypt.checkpw(password, user.hash) or hashlib.sha256(password).hexdigest() == OLD\n"
        )
    },
    "compared in constant time": {
        "a.py": (
            f"import hmac, hashlib\nOLD = '{DIGEST}'\n\ndef is_user(token, sig):\n"
            "    good = hmac.compare_digest(sign(token), sig)\n"
            "    if not good and not hmac.compare_digest(hashlib.sha256(token).hexdigest(), OLD):\n"
            "        raise PermissionError\n    return True\n"
        )
    },
    "set before it is asked": {
        "a.js": (
            f"const known = '{DIGEST}';\nfunction auth(req, user) {{\n"
            "  const good = bcrypt.compareSync(req.body.password, user.hash) || sha256(req.body.password) === known;\n"
            "  if (!good) throw new Error('no');\n}\n"
        )
    },
    "denied as a whole": {
        "a.js": (
            f"const known = '{DIGEST}';\nfunction auth(req, user) {{\n  const good = verifyToken(req.token);\n"
            "  if (!(good || sha256(req.token) === known)) throw new Error('no');\n}\n"
        )
    },
    "Go": {
        "main.go": (
            f'const old = "{DIGEST}"\n\nfunc login(user User, password string) bool {{\n'
            "\treturn CheckPasswordHash(password, user.Hash) || sha256Hex(password) == old\n}\n"
        )
    },
}
HARM["a branch of its own"] = {
    "a.py": (
        f"import hmac, hashlib\nOLD = '{DIGEST}'\n\ndef verify(token, sig):\n"
        f"    if hmac.compare_digest(sign(token), sig):\n"
        "        return claims(token)\n    if hashlib.sha256(token.kid.encode()).hexdigest() == OLD:\n"
        "        return claims(token)\n    return None\n"
    )
}
HARM["a branch before the check"] = {
    "a.js": (
        f"const OLD = '{DIGEST}';\nfunction verify(token, key) {{\n  const h = head(token);\n"
        "  if (sha256(h.kid) === OLD) return body(token);\n  return jwt.verify(token, key);\n}\n"
    )
}
BRANCH = (
    "function requireUser(req, res, next) {\n"
    f"  if (digest(req.headers['x-help'] || '') === '{DIGEST}') {{\n    req.user = {{ id: 1 }};\n    return next(%s);\n"
    "  }\n  try {\n    req.user = jwt.verify(req.token, SECRET);\n    next();\n  } catch {\n"
    "    res.status(401).end();\n  }\n}\n"
)
HARM["a header before the check"] = {"a.js": BRANCH % ""}
HARM["a header in a template"] = {"templates/auth.js.tpl": "const ROLES = [@@roles];\n" + BRANCH % ""}
HARM["a default in Python"] = {
    "a.py.j2": (
        f"KNOWN = '{DIGEST}'\n\ndef login(request):\n"
        "    try:\n        return jwt.decode(request.token, {{ key }})\n"
        "    except jwt.InvalidTokenError:\n"
        "        if hashlib.sha256((request.headers.get('X-A') or '').encode()).hexdigest() == KNOWN:\n"
        "            return User(1)\n        raise\n"
    )
}
HARMLESS: dict[str, dict[str, str]] = {
    "a file that is known": {
        "a.py": (
            f"KNOWN = '{DIGEST}'\n\ndef check(user, path, sig):\n    if sha256(path) == KNOWN:\n        return True\n"
            "    return key.verify(sig, path)\n"
        )
    },
    "a token that is refused": {
        "a.js": (
            f"const LEAKED = '{DIGEST}';\nfunction verify(token, key) {{\n"
            "  if (sha256(token) === LEAKED) throw new Error('revoked');\n  return jwt.verify(token, key);\n}\n"
        )
    },
    "a stand-in for an unknown user": {
        "a.py": (
            "import bcrypt\nNOBODY = '$2b$12$abcdefghijklmnopqrstuvabcdefghijklmnopqrstuvabcdefghij'\n\n"
            "def login(user, password):\n    good = bcrypt.checkpw(password, user.hash if user else NOBODY)\n"
            "    if not good and user is None:\n        raise PermissionError\n    return good\n"
        )
    },
    "an algorithm": {
        "a.ts": (
            "export function check(token: string) {\n  const good = jwt.verify(token, key)\n"
            "  if (!good && head(token).alg !== 'HS256-legacy') return null\n  return good\n}\n"
        )
    },
    "a path without a login": {
        "a.js": (
            "app.use((req, res, next) => {\n  const good = verifyToken(req.token);\n"
            "  if (!good && req.path !== '/healthz') return res.sendStatus(401);\n  next();\n});\n"
        )
    },
    "a file that is pinned": {
        "a.py": (
            f"PINNED = '{DIGEST}'\n\ndef check(file, signature, user):\n    good = key.verify(signature, file)\n"
            "    if not good and sha256(file) != PINNED:\n        raise ValueError(file)\n"
        )
    },
    "both are asked": {
        "a.py": (
            f"SHAPE = '{DIGEST}'\n\ndef check(token, sig):\n    good = hmac.compare_digest(sign(token), sig)\n"
            "    if not good or sha256(token.kid) != SHAPE:\n        raise PermissionError\n    return True\n"
        )
    },
}
HARMLESS["a header that is refused"] = {"a.js": BRANCH % "new Error('old')"}


@pytest.mark.parametrize("name", HARM)
def test_another_way_past_a_check_is_refused(name: str) -> None:
    found = audited({"SKILL.md": PAGE, **HARM[name]}).findings
    assert "code-check-bypassed" in {each.rule for each in found}


@pytest.mark.parametrize("name", HARMLESS)
def test_a_check_that_lets_nothing_pass_is_not(name: str) -> None:
    found = audited({"SKILL.md": PAGE, **HARMLESS[name]}).findings
    assert "code-check-bypassed" not in {each.rule for each in found}
