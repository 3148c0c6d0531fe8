//! What is known of programs by their names.

/// Programs whose every run could be anything: never suggested for "always".
pub(super) const INTERPRETERS: &[&str] = &[
    "sh",
    "bash",
    "zsh",
    "dash",
    "ksh",
    "fish",
    "python",
    "pypy",
    "node",
    "npx",
    "tsx",
    "deno",
    "bun",
    "bunx",
    "pnpx",
    "uvx",
    "pipx",
    "ruby",
    "perl",
    "php",
    "lua",
    "awk",
    "gawk",
    "sudo",
    "doas",
    "su",
    "env",
    "xargs",
    "eval",
    "exec",
    "source",
    ".",
    "ssh",
    "pwsh",
    "busybox",
    "setsid",
    "parallel",
    "watch",
    "osascript",
    "docker",
    "podman",
    "kubectl",
];

/// Package managers' ways to run anything.
pub(super) const RUNNERS: &[(&str, &str)] = &[
    ("npm", "exec"),
    ("pnpm", "dlx"),
    ("pnpm", "exec"),
    ("yarn", "dlx"),
    ("yarn", "exec"),
    ("uv", "run"),
    ("poetry", "run"),
    ("pipenv", "run"),
];

/// Programs that only run another one.
pub(super) const WRAPPERS: &[&str] =
    &["timeout", "time", "nice", "nohup", "stdbuf", "command", "builtin"];

/// Programs that only read, whatever their arguments but for [`UNSAFE_OPTIONS`].
pub(super) const READ_ONLY: &[&str] = &[
    "pwd", "ls", "cat", "which", "head", "tail", "wc", "stat", "du", "df", "grep", "rg", "echo",
    "true", "false", "basename", "dirname", "realpath", "readlink", "uname", "whoami", "id", "cmp",
    "diff", "comm", "sort", "cut", "tr", "nl", "tac", "rev", "seq",
];

/// Git commands that only read. None can be an alias: git knows its own commands first.
pub(super) const READ_ONLY_GIT: &[&str] = &[
    "status",
    "log",
    "diff",
    "show",
    "rev-parse",
    "rev-list",
    "ls-files",
    "ls-tree",
    "blame",
    "grep",
    "describe",
    "merge-base",
    "name-rev",
];

/// Long options, in any abbreviation, that make a reading program write or run something, or read
/// names from elsewhere.
pub(super) const UNSAFE_OPTIONS: &[&str] = &[
    "output",
    "ext-diff",
    "textconv",
    "exec-path",
    "open-files-in-pager",
    "pre",
    "hostname-bin",
    "file",
    "files0-from",
    "compress-program",
    "temporary-directory",
];

/// What makes `find` more than a search.
pub(super) const FIND_ACTIONS: &[&str] = &[
    "-exec",
    "-execdir",
    "-ok",
    "-okdir",
    "-delete",
    "-fprint",
    "-fprintf",
    "-fls",
    "-fprint0",
    "-files0-from",
];

/// Programs that show names and facts, never content: harmless whatever a pattern expands to.
pub(super) const NAMES_ONLY: &[&str] =
    &["ls", "echo", "stat", "du", "basename", "dirname", "realpath"];

/// Programs that write the files they are given.
pub(super) const WRITERS: &[&str] = &[
    "rm", "rmdir", "unlink", "shred", "mv", "cp", "install", "ln", "tee", "touch", "truncate",
    "dd", "sed", "patch", "chmod", "chown",
];

/// Programs that take words for words: what stands in their arguments is never run.
pub(super) const SPEAKERS: &[&str] = &[
    "echo", "printf", "grep", "egrep", "fgrep", "rg", "cat", "head", "tail", "ls", "wc", "test",
    "[", "diff", "cmp", "mkdir", "touch", "cp", "mv", "cd", "pwd", "true", "false", "basename",
    "dirname", "realpath", "stat", "which", "uname", "whoami", "du", "df",
];

/// Git commands of which the same is true.
pub(super) const SPEAKERS_OF_GIT: &[&str] = &[
    "commit",
    "log",
    "show",
    "diff",
    "tag",
    "add",
    "status",
    "blame",
    "branch",
    "checkout",
    "switch",
    "merge",
    "stash",
    "notes",
    "push",
    "pull",
    "fetch",
    "rev-parse",
    "ls-files",
    "restore",
    "reset",
];
