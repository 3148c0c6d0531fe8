"""What looking for the changes of a command adds to it, beside `git status` on the same tree."""
import os
import subprocess


def tree_of(folder, files):
    folder.mkdir()
    for number in range(files):
        path = folder / f"d{number // 100:03}" / f"f{number:05}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"file {number}\n" * 20)
    git = ["git", "-c", "user.name=b", "-c", "user.email=b@example.org", "-C", str(folder)]
    for arguments in (["init", "-q"], ["add", "."], ["commit", "-q", "-m", "first"]):
        subprocess.run([*git, *arguments], check=True)
    # What was written just now cannot be told from what is written next.
    for path in folder.glob("d*/*.txt"):
        os.utime(path, (1_000_000, 1_000_000))
    subprocess.run([*git, "update-index", "-q", "--refresh"], check=True)
    return folder


def rows(top, start, timed, median_ms):
    for files, goal in ((100, "goal ≤ 5 ms"), (50_000, "")):
        tree = tree_of(top / f"commands{files}", files)
        server = start(tree)

        def run(script):
            call = {"name": "Bash", "input": {"command": script, "description": "nothing"}}
            return lambda: server.request("copydesk/tool/call", call)

        # `true` is known to change nothing and is not looked after.
        plain, looked_after = run("true"), run(":")
        status = lambda: subprocess.run(["git", "-C", str(tree), "status", "--porcelain"], stdout=subprocess.DEVNULL, check=True)
        for warm in (plain, looked_after, status):
            warm()
        added = median_ms(timed(looked_after, 15)) - median_ms(timed(plain, 15))
        peer = median_ms(timed(status, 7))
        print(f"command, {files:6} files   {added:8.1f} ms more to find its changes   {added / peer:5.2f} × git status   {goal}")
        server.end()
