//! As Chord shows its tools: snake_case names, `path` for files, lists of paths and globs.

use std::sync::OnceLock;

use crate::dialects::{
    Context, Dialect, Face, Field, Found, Limits, Lines, Looks, Media, Needed, Preset, Time,
};

const PATH: Field = Field::new("file_path").named("path");

pub static DIALECT: Dialect = Dialect {
    name: "chord",
    lines: Lines::Numbered,
    context: Context::Barred,
    found: Found {
        matches: 120,
        match_bytes: 12 * 1024,
        names: 250,
        name_bytes: 16 * 1024,
    },
    media: Media::InRead,
    looks: Looks::Status,
    time: Time::USUAL,
    printed: 16 * 1024,
    hidden: &[
        ("MultiEdit", "Edit"),
        ("EditLines", "Edit"),
        ("NotebookEdit", "Edit"),
        ("LS", "Glob"),
        ("Process", "Bash"),
        ("Terminal", "Bash"),
    ],
    faces: &[
        Face::new("Read", "read")
            .described(
                "Reads a file as the editor holds it, unsaved changes included, with line numbers. Shows at most \
                 2,000 lines or 100 KB; the last line says what part was shown and where to go on. Also shows \
                 images (PNG, JPEG, WebP, GIF, BMP, TIFF) and PDFs (20 pages a call; `offset` and `limit` count \
                 pages). Read the lines you want to edit first.",
            )
            .only(&[
                PATH,
                Field::new("offset")
                    .described("The first line, counted from 1; negative counts from the end."),
                Field::new("limit").described("How many lines."),
            ]),
        Face::new("Write", "write")
            .described(
                "Creates a file, with its folders, or replaces the whole text of one. A file that exists must have been \
                 read whole before; to change a part of it use `Edit`.",
            )
            .only(&[PATH, Field::new("content")]),
        Face::new("Edit", "edit").only(&[
            PATH,
            Field::new("old_string"),
            Field::new("new_string"),
            Field::new("replace_all"),
        ]),
        Face::new("ApplyPatch", "apply_patch").only(&[Field::new("patch")]),
        Face::new("Delete", "delete"),
        Face::new("ViewImage", "view_image").only(&[PATH, Field::new("label")]),
        Face::new("Grep", "grep")
            .described(
                "Searches file contents with a regular expression (ripgrep's syntax), the editor's unsaved text in \
                 place of files. Ignored and binary files are left out. Shows `path:line:text`, and lines around a \
                 match as `| path-line-text`.",
            )
            .only(&[
            Field::new("pattern"),
            Field::new("paths"),
            Field::new("includes"),
            Field::new("context_lines"),
            Field::new("output_mode").preset(Preset::Word("content")).needed(Needed::Never),
        ])
        .also(&[("path", "paths"), ("glob", "includes")]),
        Face::new("Glob", "glob")
            .only(&[Field::new("patterns").needed(Needed::Always), Field::new("path")])
            .also(&[("pattern", "patterns")]),
        Face::new("Bash", "shell").only(&[
            Field::new("command"),
            Field::new("description"),
            Field::new("cwd").named("workdir"),
            Field::new("deadline")
                .named("timeout_ms")
                .described(
                    "Milliseconds after which it is ended; 0: never. In the foreground 600,000 unless \
                     given and at most.",
                )
                .preset(Preset::Number(600_000))
                .most(600_000)
                .in_background(Limits { preset: Preset::Absent, most: Some(21_600_000) }),
            Field::new("yield_time_ms"),
            Field::new("run_in_background"),
        ]),
        Face::new("JobOutput", "job_output").only(&[Field::new("job_id"), Field::new("wait")]),
        Face::new("JobList", "job_list").only(&[Field::new("include_finished")]),
        Face::new("JobKill", "job_kill"),
    ],
    shown: OnceLock::new(),
};
