//! As Kimi Code CLI shows its tools: `path` for files, pages of 1,000 lines, tasks instead of jobs.

use std::sync::OnceLock;

use crate::bounds::RESULT;
use crate::dialects::{
    Context, Dialect, Face, Field, Found, Limits, Lines, Looks, Media, Needed, Preset, Time,
};

const PATH: Field = Field::new("file_path").named("path");
const TASK: Field = Field::new("job_id").named("task_id").described("The task's id, e.g. `job-1`.");

pub static DIALECT: Dialect = Dialect {
    name: "kimi",
    lines: Lines::Numbered,
    context: Context::Plain,
    found: Found::MUCH,
    media: Media::Apart,
    looks: Looks::Fields,
    time: Time { foreground: 60_000, background: Some(600_000) },
    printed: RESULT,
    hidden: &[
        ("MultiEdit", "Edit"),
        ("ApplyPatch", "Edit"),
        ("EditLines", "Edit"),
        ("NotebookEdit", "Edit"),
        ("Delete", "Bash"),
        ("LS", "Glob"),
        ("Process", "Bash"),
        ("Terminal", "Bash"),
    ],
    faces: &[
        Face::new("Read", "Read")
            .described(
                "Reads a text file as the editor holds it, unsaved changes included, with line numbers. Shows \
                 at most 1,000 lines or 100 KB; the last line says what part was shown and where to go on.",
            )
            .only(&[
                PATH,
                Field::new("offset")
                    .named("line_offset")
                    .described("The first line, counted from 1; negative counts from the end."),
                Field::new("limit")
                    .named("n_lines")
                    .described("How many lines, at most 1,000.")
                    .preset(Preset::Number(1_000))
                    .most(1_000),
            ]),
        Face::new("ViewImage", "ReadMediaFile").only(&[PATH]),
        Face::new("Write", "Write").only(&[PATH, Field::new("content"), Field::new("mode")]),
        Face::new("Edit", "Edit").only(&[
            PATH,
            Field::new("old_string"),
            Field::new("new_string"),
            Field::new("replace_all"),
        ]),
        Face::new("Grep", "Grep").only(&[
            Field::new("pattern"),
            Field::new("path"),
            Field::new("glob"),
            Field::new("type"),
            Field::new("output_mode"),
            Field::new("-i"),
            Field::new("-n"),
            Field::new("-A"),
            Field::new("-B"),
            Field::new("-C"),
            Field::new("head_limit"),
            Field::new("offset"),
            Field::new("multiline"),
            Field::new("include_ignored"),
        ]),
        Face::new("Glob", "Glob").only(&[
            Field::new("pattern").needed(Needed::Always),
            Field::new("path"),
            Field::new("include_dirs").preset(Preset::Yes),
        ]),
        Face::new("Bash", "Bash").only(&[
            Field::new("command"),
            Field::new("cwd"),
            Field::new("timeout")
                .described(
                    "Milliseconds it may take: in the foreground 60,000 unless given, 300,000 at most; in \
                     the background 600,000.",
                )
                .most(300_000)
                .in_background(Limits { preset: Preset::Absent, most: Some(600_000) }),
            Field::new("description")
                .described("What it does; required for a command in the background.")
                .needed(Needed::InBackground),
            Field::new("run_in_background"),
            Field::new("disable_timeout"),
        ]),
        Face::new("JobList", "TaskList").only(&[Field::new("active_only"), Field::new("limit")]),
        Face::new("JobOutput", "TaskOutput").only(&[
            TASK,
            Field::new("block"),
            Field::new("timeout").described("Seconds to wait, at most 600. Absent: 30."),
        ]),
        Face::new("JobKill", "TaskStop").only(&[TASK, Field::new("reason")]),
    ],
    shown: OnceLock::new(),
};
