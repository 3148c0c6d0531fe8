"""The rows on edits: exact ones in a big file, ones that fail on several shapes of text, and a file written anew."""
import json
import sys


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
    words = ["value_50001 ", "VALUE_50001 "]

    def exact():
        check(False, call("Edit", old_string=words[0], new_string=words[1]))
        words.reverse()

    ours, peer = timed(exact, 9), timed(lambda: (folder / "peer").write_bytes(b"x" * size), 9)
    print(f"Edit, {size / 1e6:3.0f} MB, on disk   {median_ms(ours):8.1f} ms   {median_ms(ours) / median_ms(peer):5.2f} × writing a file of that size   goal ≤ 5 ms beside writing it")
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
