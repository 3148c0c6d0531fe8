"""The rows on search: Grep and Glob of a running server beside `rg` started for each search."""
import re
import subprocess
import sys
import time

BIG = 60_000
DIRTY = 2_000


def tree_of(top, files):
    """A tree of sources, about 7 KB each; every fiftieth has a needle, every tenth another extension."""
    tree = top / f"tree-{files}"
    for number in range(files):
        folder = tree / f"d{number // 200}" / f"e{number // 20 % 10}"
        folder.mkdir(parents=True, exist_ok=True)
        end = ".ts" if number % 10 == 0 else ".rs"
        (folder / f"f{number}{end}").write_text(text_of(number))
    (tree / ".git").mkdir()
    (tree / ".gitignore").write_text("/target/\n*.log\n!keep.log\n")
    return tree


def text_of(number):
    words = "\n".join(f"let value_{number}_{n} = compute({n}); // some words" for n in range(150))
    return words + ("\nneedle here\n" if number % 50 == 0 else "\n")


class Search:
    """One tree, its server and its peer."""

    def __init__(self, rg, server, tree, timed, median_ms):
        self.rg, self.server, self.tree = rg, server, tree
        self.timed, self.median_ms = timed, median_ms

    def call(self, name, given):
        result = self.server.request("copydesk/tool/call", {"name": name, "input": given})
        return "".join(part.get("text", "") for part in texts(result))

    def ours(self, name, given, times):
        return self.median_ms(self.timed(lambda: self.call(name, given), times))

    def theirs(self, args, times):
        run = lambda: subprocess.run([self.rg, *args, str(self.tree)], stdout=subprocess.DEVNULL, check=False)
        return self.median_ms(self.timed(run, times))

    def check(self, pattern, more=0):
        """The same lines must be found; `more` of them only in the editor."""
        counted = self.call("Grep", {"pattern": pattern, "output_mode": "count_matches", "head_limit": 1})
        found = re.search(r"total: (\d+) match", counted)
        ours = int(found[1]) if found else 0
        lines = subprocess.run([self.rg, "--count-matches", "-I", "--no-filename", "-e", pattern, str(self.tree)], stdout=subprocess.PIPE, check=False)
        theirs = sum(int(line) for line in lines.stdout.split())
        if ours != theirs + more:
            sys.exit(f"{pattern!r}: {ours} found, {theirs} by rg, {more} in the editor alone:\n{counted[-300:]}")


def texts(value):
    if isinstance(value, dict):
        if value.get("type") == "text" and "text" in value:
            yield value
        for it in value.values():
            yield from texts(it)
    elif isinstance(value, list):
        for it in value:
            yield from texts(it)


def row(what, ours, theirs, peer, rest):
    print(f"{what:23} {ours:8.1f} ms   {ours / theirs:5.2f} × {peer}   {rest}")


def rows(top, start, rg, timed, median_ms):
    """`start(tree)` gives a server."""
    for files, goal, times in ((10, "0.1", 30), (100, "0.7", 30), (1_000, "0.7", 20), (BIG, "0.7", 7)):
        tree = tree_of(top, files)
        # What was just written is written to the disk while it is read; that is nobody's speed.
        subprocess.run(["sync"], check=True)
        time.sleep(2.5)
        server = start(tree)
        search = Search(rg, server, tree, timed, median_ms)
        grep = {"pattern": "needle", "output_mode": "content"}
        peer = search.theirs(["-n", "needle"], times)
        first = search.ours("Grep", grep, 1)
        search.ours("Grep", grep, 2)
        ours = search.ours("Grep", grep, times)
        peer = min(peer, search.theirs(["-n", "needle"], times))
        row(f"Grep, {files} files", ours, peer, "spawning rg", f"({first / peer:.2f} × the first time)   goal ≤ {goal} ×")
        search.check("needle")
        ours = search.ours("Glob", {"pattern": "**/*.ts"}, times)
        row(f"Glob, {files} files", ours, search.theirs(["--files", "-g", "**/*.ts"], times), "rg --files -g", "goal ≤ 0.5 ×")
        if files == BIG:
            big(search)
        server.end()


def big(search):
    pattern = r"value_\d+_7\b.*words"
    grep = {"pattern": pattern, "output_mode": "content"}
    row("Grep, regex, all hits", search.ours("Grep", {**grep, "output_mode": "count_matches"}, 3), search.theirs(["-c", pattern], 3), "rg -c", f"({BIG:,} hits)")
    peer = search.theirs(["-n", "let"], 2)
    row("Grep, capped at 1,000", search.ours("Grep", {"pattern": "let", "output_mode": "content", "head_limit": 1000}, 5), peer, "rg -n", f"(of {BIG * 150:,} hits)   stops at once")
    touched = search.tree / "d0/e0/new.rs"

    def after_a_change():
        touched.write_text("nothing\n")
        search.call("Grep", {"pattern": "needle", "output_mode": "content"})
        touched.unlink()

    row("Grep after a new file", search.median_ms(search.timed(after_a_change, 5)), search.theirs(["-n", "needle"], 5), "spawning rg", "goal ≤ 0.7 ×")
    for number in range(DIRTY):
        at = number * (BIG // DIRTY)
        end = ".ts" if at % 10 == 0 else ".rs"
        path = search.tree / f"d{at // 200}/e{at // 20 % 10}/f{at}{end}"
        document = {"uri": path.as_uri(), "languageId": "rust", "version": 1, "text": text_of(at)}
        search.server.notify("textDocument/didOpen", {"textDocument": document})
        change = {"range": {"start": {"line": 0, "character": 0}, "end": {"line": 0, "character": 0}}, "text": "unsaved_marker\n"}
        search.server.notify("textDocument/didChange", {"textDocument": {"uri": document["uri"], "version": 2}, "contentChanges": [change]})
    search.check("unsaved_marker", DIRTY)
    grep = {"pattern": "needle", "output_mode": "content"}
    ours = search.ours("Grep", grep, 7)
    row(f"Grep, {DIRTY} unsaved", ours, search.theirs(["-n", "needle"], 7), "spawning rg", "goal ≤ 0.7 ×")
