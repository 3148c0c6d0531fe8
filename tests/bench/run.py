#!/usr/bin/env python3
"""Prints how fast the built server is, beside a named peer measured in the same run. Never passes or fails.

Usage: tests/bench/run.py [BINARY [PART...]]   (default: target/release/copydesk, all parts; tests/setup installs rg)
"""
import json
import os
import pathlib
import re
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time

import edits
import commands
import search

root = pathlib.Path(__file__).resolve().parents[2]
binary = os.path.abspath(sys.argv[1]) if len(sys.argv) > 1 else str(root / "target/release/copydesk")
cache = pathlib.Path(os.environ.get("COPYDESK_TEST_CACHE", root / "tests/.cache"))
rg = str(cache / "bench/rg")


def frame(message):
    body = json.dumps({"jsonrpc": "2.0", **message}).encode()
    return b"Content-Length: %d\r\n\r\n%s" % (len(body), body)


class Server:
    """`copydesk lsp` in an environment of its own."""

    def __init__(self, top, folder, options=None):
        env = {"PATH": os.environ["PATH"], "HOME": str(top / "home"), "XDG_CONFIG_HOME": str(top / "config"), "XDG_STATE_HOME": str(top / "state"),
               "XDG_CACHE_HOME": str(top / "cache"), "XDG_DATA_HOME": str(top / "data")}
        self.process = subprocess.Popen([binary, "lsp"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=env, cwd=folder)
        self.folder, self.options, self.number = folder, {"trusted": True, **(options or {})}, 0

    def initialize(self):
        marker = {"protocolVersion": 1, "permission": {}, "save": {}, "editorState": {}, "review": {}}
        capabilities = {"workspace": {"applyEdit": True}, "experimental": {"copydesk": marker}}
        uri = self.folder.as_uri()
        self.request("initialize", {"processId": None, "rootUri": uri, "capabilities": capabilities, "initializationOptions": self.options,
                                    "workspaceFolders": [{"uri": uri, "name": "bench"}]})
        self.notify("initialized", {})
        return self

    def send(self, raw):
        self.process.stdin.write(raw)
        self.process.stdin.flush()

    def notify(self, method, params):
        self.send(frame({"method": method, "params": params}))

    def read(self):
        length = 0
        while (line := self.process.stdout.readline()) != b"\r\n":
            if not line:
                sys.exit("the server ended")
            if line.lower().startswith(b"content-length:"):
                length = int(line.split(b":")[1])
        return json.loads(self.process.stdout.read(length))

    def request(self, method, params):
        self.number += 1
        self.send(frame({"id": self.number, "method": method, "params": params}))
        while True:
            message = self.read()
            if message.get("id") == self.number and "method" not in message:
                if "error" in message:
                    sys.exit(f"{method}: {message['error']}")
                return message["result"]

    def until(self, wanted):
        while True:
            message = self.read()
            if wanted(message):
                return message

    def end(self):
        self.process.stdin.close()
        self.process.wait(10)


def median_ms(times):
    return statistics.median(times) * 1000


def timed(work, times):
    out = []
    for _ in range(times):
        start = time.perf_counter()
        work()
        out.append(time.perf_counter() - start)
    return out


def start_time(top, folder):
    def once():
        nonlocal last
        last = Server(top, folder).initialize()
    last, ours = None, []
    for _ in range(15):
        ours += timed(once, 1)
        memory = memory_of(last.process.pid)
        last.end()
    peer = timed(lambda: subprocess.run([rg, "--version"], stdout=subprocess.DEVNULL, check=True), 15)
    print(f"start → initialize      {median_ms(ours):8.1f} ms   {median_ms(ours) / median_ms(peer):5.1f} × starting `rg --version`   {memory:.0f} MB   goal ≤ 8 ms, ≤ 15 MB")


def changes_in_order(top, folder):
    server = Server(top, folder).initialize()
    uri = (folder / "typed.txt").as_uri()
    server.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "plaintext", "version": 1, "text": "line\n" * 1000}})
    count = 200_000
    def change(number):
        at = {"line": number % 1000, "character": 0}
        return frame({"method": "textDocument/didChange", "params": {"textDocument": {"uri": uri, "version": number + 2},
                                                                     "contentChanges": [{"range": {"start": at, "end": at}, "text": "x"}]}})
    blob = b"".join(change(n) for n in range(count))
    sink = subprocess.Popen(["cat"], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    reader = threading.Thread(target=sink.stdout.read)
    reader.start()
    start = time.perf_counter()
    sink.stdin.write(blob)
    sink.stdin.close()
    reader.join()
    peer = time.perf_counter() - start
    start = time.perf_counter()
    server.send(blob)
    server.request("copydesk/tool/call", {"name": "Read", "input": {"file_path": "typed.txt", "limit": 1}})
    ours = time.perf_counter() - start
    print(f"didChange, in order     {count / ours:8.0f} /s   {ours / peer:5.1f} × the same bytes through `cat`   goal ≥ 100,000/s")
    server.end()


class Drip:
    """A model that says one piece whenever it is told to."""

    def __init__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.ready = threading.Event()
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            peer, _ = self.listener.accept()
            threading.Thread(target=self.answer, args=(peer,), daemon=True).start()

    def answer(self, peer):
        head = b""
        while b"\r\n\r\n" not in head:
            head += peer.recv(65536)
        head, body = head.split(b"\r\n\r\n", 1)
        length = next((int(h.split(b":")[1]) for h in head.split(b"\r\n") if h.lower().startswith(b"content-length:")), 0)
        while len(body) < length:
            body += peer.recv(65536)
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        peer.sendall(b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n")
        self.peer = peer
        self.say("")
        self.ready.set()

    def say(self, text, end=None):
        chunk = {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [{"index": 0, "delta": {"content": text}, "finish_reason": end}]}
        self.peer.sendall(b"data: " + json.dumps(chunk).encode() + b"\n\n" + (b"data: [DONE]\n\n" if end else b""))
        if end:
            self.peer.close()


def ledger(top, folder):
    """What a keystroke costs the ledger: a thousand hunks in a long file, typed in, against the same file without any."""
    text = "".join(f"line {n:06} of a long file\n" for n in range(100_000))
    changed = "".join(f"{'LINE' if n % 100 == 0 else 'line'} {n:06} of a long file\n" for n in range(100_000))
    count, small = 2_000, (folder / "small.txt").as_uri()
    (folder / "small.txt").write_text("small\n")

    def typing(name, hunks):
        server = Server(top, folder, {"mode": "edit"}).initialize()
        (folder / name).write_text(text)
        if hunks:
            server.request("copydesk/tool/call", {"name": "Write", "input": {"file_path": name, "content": changed}})
        uri = (folder / name).as_uri()
        shown = (folder / name).read_text()
        server.notify("textDocument/didOpen", {"textDocument": {"uri": uri, "languageId": "plaintext", "version": 1, "text": shown}})
        server.request("copydesk/review/list", {"uri": small})
        at = {"line": 50_050, "character": 5}
        changes = b"".join(frame({"method": "textDocument/didChange", "params": {"textDocument": {"uri": uri, "version": number + 2},
                                  "contentChanges": [{"range": {"start": at, "end": at}, "text": "x"}]}}) for number in range(count))
        start = time.perf_counter()
        server.send(changes)
        server.request("copydesk/review/list", {"uri": small})
        taken = time.perf_counter() - start
        found = sum(len(it["hunks"]) for it in server.request("copydesk/review/list", {})["files"])
        if found != (1_000 if hunks else 0):
            sys.exit(f"the ledger has {found} hunks")
        server.end()
        return taken

    peer, ours = typing("plain.txt", False), typing("changed.txt", True)
    print(f"ledger, one keystroke   {(ours - peer) / count * 1000:8.3f} ms   {ours / peer:5.1f} × the same typing without hunks   goal ≤ 1 ms with 1,000 hunks in 100,000 lines")


def added_per_delta(top, folder):
    drip = Drip()
    settings = {"model": "m/m", "providers": {"m": {"protocol": "openai", "base_url": f"http://127.0.0.1:{drip.port}/v1", "api_key": "k"}}}
    server = Server(top, folder, settings).initialize()
    session = server.request("session/new", {"cwd": str(folder), "mcpServers": []})["sessionId"]
    server.request("session/prompt", {"sessionId": session, "prompt": [{"type": "text", "text": "go"}]})
    drip.ready.wait(10)
    left, right = socket.socketpair()
    ours, peer = [], []
    for number in range(40):
        time.sleep(0.06)  # a quiet gap, so that the delta is the first after it
        word = f"word{number} "
        start = time.perf_counter()
        drip.say(word)
        server.until(lambda m: m.get("method") == "session/update" and word.strip() in json.dumps(m))
        ours.append(time.perf_counter() - start)
        start = time.perf_counter()
        left.sendall(word.encode())
        right.recv(100)
        peer.append(time.perf_counter() - start)
    drip.say("", "stop")
    print(f"model delta → editor    {median_ms(ours):8.2f} ms   {median_ms(ours) - median_ms(peer):5.2f} ms more than a bare socket   goal ≤ 2 ms added")
    server.end()


def memory_of(pid, what="VmRSS"):
    return next(int(line.split()[1]) for line in open(f"/proc/{pid}/status") if line.startswith(what)) / 1024


def document_memory(top, folder):
    server = Server(top, folder).initialize()
    read = {"name": "Read", "input": {"file_path": "doc0.txt", "limit": 1}}
    text = "".join(f"line {n} of a text that is a megabyte long\n" for n in range(30_000))[:1_000_000]

    def opened(number):
        document = {"uri": (folder / f"doc{number}.txt").as_uri(), "languageId": "plaintext", "version": 1, "text": text}
        server.notify("textDocument/didOpen", {"textDocument": document})

    opened(0)
    server.request("copydesk/tool/call", read)
    before = memory_of(server.process.pid)
    for number in range(1, 21):
        opened(number)
    server.request("copydesk/tool/call", read)
    each = (memory_of(server.process.pid) - before) / 20
    print(f"1 MB document           {each:8.2f} MB   {each:5.2f} × its text   goal ≤ 2 MB")
    server.end()


def through_a_job(top, folder):
    script = "yes 'one line of many, forty characters wide' | head -c 1000000000"

    def piped():
        process = subprocess.Popen(["sh", "-c", script], stdout=subprocess.PIPE)
        while os.read(process.stdout.fileno(), 65536):
            pass
        process.wait()

    server = Server(top, folder, {"mode": "auto"}).initialize()

    def job():
        call = {"name": "Bash", "input": {"command": script, "run_in_background": True, "description": "a flood"}}
        began = json.dumps(server.request("copydesk/tool/call", call))
        name = re.search(r"job-\d+", began)
        if not name:
            sys.exit(f"no job: {began}")
        wait = {"name": "JobOutput", "input": {"job_id": name[0], "wait": "exit", "timeout": 120}}
        ended = json.dumps(server.request("copydesk/tool/call", wait))
        if "completed" not in ended:
            sys.exit(f"the job did not end well: {ended[-500:]}")

    piped()
    before = memory_of(server.process.pid)
    ours, peer = timed(job, 3), timed(piped, 3)
    ratio = median_ms(peer) / median_ms(ours)
    print(f"1 GB through a job      {1_000_000 / median_ms(ours):8.0f} MB/s {ratio:5.2f} × a plain pipe   {memory_of(server.process.pid, 'VmHWM') - before:.0f} MB more at most   goal ≥ 0.7 ×, memory flat")
    server.end()


def main():
    if not os.path.exists(binary):
        sys.exit(f"no server at {binary}: cargo build --release")
    if not os.path.exists(rg):
        sys.exit(f"no rg at {rg}: run tests/setup")
    with tempfile.TemporaryDirectory(prefix="bench-") as made:
        top = pathlib.Path(made).resolve()
        folder = top / "empty"
        folder.mkdir()
        parts = {
            "start": lambda: start_time(top, folder),
            "changes": lambda: changes_in_order(top, folder),
            "ledger": lambda: ledger(top, folder),
            "delta": lambda: added_per_delta(top, folder),
            "memory": lambda: document_memory(top, folder),
            "job": lambda: through_a_job(top, folder),
            "edits": lambda: edits.rows(top, lambda tree: Server(top, tree, {"mode": "edit"}).initialize(), timed, median_ms),
            "search": lambda: search.rows(top, lambda tree: Server(top, tree).initialize(), rg, timed, median_ms),
            "commands": lambda: commands.rows(top, lambda tree: Server(top, tree, {"mode": "auto"}).initialize(), timed, median_ms),
        }
        for name in sys.argv[2:] or parts:
            if name not in parts:
                sys.exit(f"no part {name}; there are {', '.join(parts)}")
            parts[name]()
        print("load of the machine     " + " ".join(f"{it:.1f}" for it in os.getloadavg()) + f"   {os.cpu_count()} processors")


if __name__ == "__main__":
    main()
