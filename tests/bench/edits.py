"""The rows on edits: exact ones in a big file, ones that fail on several shapes of text, and a file written anew."""
import json
import os
import sys


def durably(folder, data):
    """Writes a file as it must be written to survive a power cut: beside the old one, synced, renamed, its folder synced."""
    with open(folder / "peer.new", "wb") as file:
        file.write(data)
        os.fsync(file.fileno())
    os.rename(folder / "peer.new", folder / "peer")
    at = os.open(folder, os.O_RDONLY)
    os.fsync(at)
    os.close(at)


def beside_pending(folder, server, timed, median_ms):
    """What an edit of a small file costs where much is pending in others, each of them 100 lines long."""
    def call(name, **input):
        result = server.request("copydesk/tool/call", {"name": name, "input": input})
        if result["isError"]:
            sys.exit(f"an edit went otherwise: {json.dumps(result)[:500]}")

    (folder / "small.txt").write_text("word 0\n")
    call("Read", file_path="small.txt")
    done = 0
    for each in (0, 1, 10):
        lines = [f"line {n} of a file of a hundred lines" for n in range(100)]
        for number in range(100 if each else 0):
            path = f"pending{each}-{number}.txt"
            (folder / path).write_text("\n".join(lines) + "\n")
            call("Read", file_path=path)
            changed = [line.upper() if n % 10 == 5 and n < 10 * each else line for n, line in enumerate(lines)]
            call("Write", file_path=path, content="\n".join(changed) + "\n")

        def edit():
            nonlocal done
            call("Edit", file_path="small.txt", old_string=f"word {done}", new_string=f"word {done + 1}")
            done += 1

        synced = timed(lambda: durably(folder, b"word"), 15)
        print(f"Edit, {100 * each:4} pending   {median_ms(timed(edit, 15)):8.1f} ms   hunks in 100 other files more than before; a small file synced {median_ms(synced):.1f} ms")


def rows(top, start, timed, median_ms):
    """`start` gives a server for a folder; the others measure."""
    folder = top / "edits"
    folder.mkdir()
    server = start(folder)

    def call(name, **input):
        return server.request("copydesk/tool/call", {"name": name, "input": {"file_path": name_of[0], **input}})

    def check(failed, result):
        if result["isError"] != failed:
            sys.exit(f"an edit went otherwise: {json.dumps(result)[:500]}")

    name_of = ["big.txt"]
    big = folder / "big.txt"
    big.write_text("".join(f"    let value_{n} = compute({n}); // {'some more words ' * 4}\n" for n in range(100_000)))
    size = big.stat().st_size
    call("Read", offset=50_000, limit=20)
    words = [f"value_50001{new} " for new in ["", *"abcdefghi"]]

    def exact():
        check(False, call("Edit", old_string=words[0], new_string=words[1]))
        words.pop(0)

    ours, peer, synced = timed(exact, 9), timed(lambda: (folder / "peer").write_bytes(b"x" * size), 9), timed(lambda: durably(folder, b"x" * size), 9)
    print(f"Edit, {size / 1e6:3.0f} MB, on disk   {median_ms(ours):8.1f} ms   writing a file of that size {median_ms(peer):.1f} ms, synced and in place of another {median_ms(synced):.1f} ms   goal ≤ 5 ms beside writing it")
    for width in (40, 200, 2000):
        name_of[0] = f"w{width}.txt"
        lines = [(f"{n * 7919 % 10_007} words of line {n} " * (width // 20 + 1))[:width] for n in range(10_000)]
        (folder / name_of[0]).write_text("\n".join(lines) + "\n")
        call("Read", offset=4_990, limit=80)
        near, far = lines[5_000:5_050], [f"nothing like it {n} {'qx' * (width // 2)}" for n in range(50)]
        for at in range(5, 50, 4):
            near[at] = f"another {at}"
        for shape, old in (("most lines there", near), ("no line there", far)):
            old = "\n".join(old)
            ours = timed(lambda: check(True, call("Edit", old_string=old, new_string="x")), 9)
            peer = timed((folder / name_of[0]).read_bytes, 9)
            print(f"failing Edit, {width:4} wide {median_ms(ours):8.1f} ms   {shape}, 10,000 lines; reading the file {median_ms(peer):.1f} ms   goal ≤ 5 ms beside reading it")
    name_of[0] = "w200.txt"
    call("Read", limit=10_000)
    moved = sorted((folder / name_of[0]).read_text().splitlines(), key=lambda line: line[::-1])
    text = "\n".join(moved) + "\n"
    ours = timed(lambda: call("Write", content=text), 1)
    print(f"Write, all lines moved  {median_ms(ours):8.1f} ms   {len(text) / 1e6:.0f} MB, the diff included   goal: the diff ends after 50 ms")
    server.end()
    pending = top / "pending"
    pending.mkdir()
    server = start(pending)
    beside_pending(pending, server, timed, median_ms)
    server.end()
