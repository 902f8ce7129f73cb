"""The style sheet of the HTML report; light or dark as the reader's system is."""

from __future__ import annotations

__all__ = ["STYLE"]

STYLE = """
:root{color-scheme:light dark;--bg:#fafaf8;--card:#fff;--ink:#1d2129;--soft:#5d6673;--line:#e1e3e6;--code:#f5f5f2;
--fail:#b3261e;--failbg:#fdeceb;--warn:#8a5a00;--warnbg:#fff4dc;--info:#2457a6;--infobg:#e9f0fc;--pass:#1b6e3c;
--passbg:#e6f5ec;--mark:#ffd9a8}
@media (prefers-color-scheme:dark){:root{--bg:#14161a;--card:#1c1f25;--ink:#e4e6ea;--soft:#99a2ae;--line:#30353d;
--code:#171a1f;--fail:#ff8a80;--failbg:#3a1d1c;--warn:#f0bd5b;--warnbg:#33290f;--info:#8fb6f5;--infobg:#1a2740;
--pass:#7fd6a0;--passbg:#15301f;--mark:#6b4a17}}
*{box-sizing:border-box}
html{scroll-padding-top:1rem}
body{margin:0;background:var(--bg);color:var(--ink);font:15px/1.55 system-ui,sans-serif}
main,nav,footer{max-width:66rem;margin:0 auto;padding:0 1.25rem}
header.top{padding:1.6rem 0 1.2rem;margin-bottom:1.6rem;border-bottom:4px solid var(--c);background:var(--b)}
header.top>div{max-width:66rem;margin:0 auto;padding:0 1.25rem;display:flex;gap:1.2rem;align-items:center}
.fail{--c:var(--fail);--b:var(--failbg)}.warn{--c:var(--warn);--b:var(--warnbg)}
.info{--c:var(--info);--b:var(--infobg)}.pass{--c:var(--pass);--b:var(--passbg)}
.badge{font-size:1.5rem;font-weight:750;letter-spacing:.03em;color:var(--card);background:var(--c);
padding:.35rem 1rem;border-radius:.5rem}
h1{font-size:1.35rem;margin:0;overflow-wrap:anywhere}
h2{font-size:1.1rem;margin:2.2rem 0 .8rem}
h3{font-size:1rem;margin:0;display:flex;gap:.6rem;align-items:baseline;flex-wrap:wrap}
p{margin:.35rem 0}
.soft,.top p{color:var(--soft);font-size:.9rem;margin:0}
.chip{font-size:.72rem;font-weight:700;letter-spacing:.04em;color:var(--c);background:var(--b);
padding:.1rem .5rem;border-radius:.3rem;border:1px solid var(--c)}
section.rule{background:var(--card);border:1px solid var(--line);border-left:4px solid var(--c);border-radius:.45rem;
padding:.85rem 1.1rem;margin:.8rem 0}
section.rule ul{list-style:none;margin:.6rem 0 0;padding:0}
section.rule li{padding:.45rem 0;border-top:1px solid var(--line)}
code,pre,.num{font-family:ui-monospace,"Cascadia Mono",Menlo,Consolas,monospace;font-size:.86em}
li code.shot{display:block;background:var(--code);padding:.35rem .6rem;margin:.3rem 0;border-radius:.3rem;
overflow-wrap:anywhere;white-space:pre-wrap}
a{color:var(--info);text-underline-offset:.15em;overflow-wrap:anywhere}
.off{opacity:.7}
.why{margin-top:.4rem}
details.file{background:var(--card);border:1px solid var(--line);border-radius:.45rem;margin:.8rem 0;overflow:hidden}
details.file summary{cursor:pointer;padding:.55rem .9rem;font-weight:600;overflow-wrap:anywhere}
.code{overflow-x:auto;border-top:1px solid var(--line);background:var(--code)}
.code table{border-collapse:collapse;min-width:100%}
.code td{padding:0 .7rem;vertical-align:top;white-space:pre;font-family:ui-monospace,"Cascadia Mono",Menlo,Consolas,
monospace;font-size:.8rem;line-height:1.5}
td.num{text-align:right;color:var(--soft);user-select:none;border-right:1px solid var(--line);width:1%}
tr.hit td{background:var(--b)}
tr.hit td.num{color:var(--c);font-weight:700}
tr:target td{outline:2px solid var(--info);outline-offset:-2px}
tr.say td{white-space:normal;font-family:system-ui,sans-serif;font-size:.82rem;background:var(--b);color:var(--c);
padding-bottom:.35rem}
tr.gap td{color:var(--soft);text-align:center;font-size:.75rem}
mark{background:var(--mark);color:inherit;border-radius:.15rem}
table.list{border-collapse:collapse;width:100%;background:var(--card);border:1px solid var(--line);
border-radius:.45rem}
table.list th,table.list td{text-align:left;padding:.4rem .8rem;border-top:1px solid var(--line);vertical-align:top;
overflow-wrap:anywhere}
table.list th{color:var(--soft);font-size:.8rem;font-weight:600;border-top:0}
nav ol{padding-left:1.2rem}
.note{border-left:4px solid var(--info);background:var(--infobg);padding:.5rem .9rem;margin:.5rem 0}
footer{color:var(--soft);font-size:.82rem;padding-top:2rem;padding-bottom:3rem;overflow-wrap:anywhere}
@media print{details.file{break-inside:avoid}body{background:#fff}}
""".strip()
