use super::interactive_reason;

#[track_caller]
fn check_rejected(script: &str) {
    assert!(interactive_reason(script).is_some(), "{script}");
}

#[track_caller]
fn check_passes(script: &str) {
    assert_eq!(interactive_reason(script), None, "{script}");
}

#[test]
fn case_10_waiting_commands_are_rejected() {
    for script in [
        "vim x",
        "/usr/bin/vi x",
        "cd a && nano b",
        "EDITOR=x nvim y",
        "env A=b emacs y",
        "less file",
        "git log | less",
        "man ls",
        "top",
        "htop",
        "watch ls",
        "ls | fzf",
        "stty -echo",
        "sudo apt install x",
        "ssh host",
        "ssh -p 22 -i key user@host",
        "ssh -t host ls",
        "sftp host",
        "su",
        "su - root",
        "passwd",
        "telnet host 80",
        "git commit",
        "git commit -a",
        "git commit --amend",
        "git -C sub commit",
        "git rebase -i HEAD~3",
        "git add -p",
        "git add -i",
        "git checkout -p",
        "git restore --patch .",
        "git reset -p",
        "git stash -p",
        "git commit -p -m x",
        "git clean -i",
        "git mergetool",
        "docker run -it ubuntu",
        "docker exec -ti box bash",
        "podman run --tty x",
        "kubectl exec -it pod -- sh",
        "kubectl edit deploy x",
        "gh auth login",
        "gcloud auth login",
        "az login",
        "aws configure",
        "npm init",
        "crontab -e",
        "timeout 5 vim x",
        "nohup nice -n 5 top",
        "echo hi > /dev/tty",
        "read x < /dev/tty",
        "tmux",
        "tmux new -s x",
        "screen",
        "if true; then vim x; fi",
        "x=$(vim y)",
        "(vim x)",
    ] {
        check_rejected(script);
    }
}

#[test]
fn other_commands_pass() {
    for script in [
        "ls",
        "echo vim",
        "grep -r vim .",
        "which vim",
        "command -v vim",
        "vim --version",
        "vim -es -c wq x",
        "nvim --headless -c q",
        "emacs --batch -l x.el",
        "man ls | cat",
        "less x > y",
        "top -b -n 1",
        "top -bn1",
        "fzf --filter=x < list",
        "sudo -n apt install x",
        "echo pw | sudo -S ls",
        "ssh host ls -t",
        "ssh -p 22 host 'ls; vim'",
        "ssh -N -L 1:a:2 host",
        "ssh host < script.sh",
        "ssh -V",
        "sftp -b batch host",
        "su -c ls user",
        "git log",
        "git commit -m 'x'",
        "git commit -am 'x'",
        "git commit --message=x",
        "git commit -F file",
        "git commit --amend --no-edit",
        "git commit --fixup HEAD",
        "GIT_EDITOR=true git commit",
        "GIT_SEQUENCE_EDITOR=: git rebase -i HEAD~2",
        "git -c core.editor=true rebase -i HEAD~2",
        "git rebase main",
        "git add -A",
        "git add -- -p",
        "yes | git add -p",
        "git log -p",
        "git diff -p",
        "git stash show -p",
        "git clean -fd",
        "docker run --rm ubuntu ls",
        "docker exec box sh -c 'x' -t",
        "docker build -t name .",
        "docker ps",
        "kubectl get pods",
        "kubectl exec pod -- tar -t",
        "gh pr list",
        "gh auth login --with-token < token",
        "gcloud auth list",
        "az login --identity",
        "aws configure set region x",
        "npm init -y",
        "npm install",
        "crontab -l",
        "tmux new -d -s x",
        "tmux ls",
        "screen -dmS x y",
        "cat <<EOF\nvim x\nEOF",
        "echo 'sudo ls'",
        "echo \"top\" # less x",
        "python3 -c 'print(1)'",
        "echo 'unclosed",
        "",
    ] {
        check_passes(script);
    }
}

#[test]
fn reasons_say_what_to_do_instead() {
    let reason = interactive_reason("sudo ls").unwrap();
    assert!(reason.contains("sudo -n"), "{reason}");
}
