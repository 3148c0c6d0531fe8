//! For GPT and the models made after it: snake_case names, and patches for every change of a file.

use std::sync::OnceLock;

use crate::bounds::RESULT;
use crate::dialects::{Context, Dialect, Face, Field, Found, Lines, Looks, Media, Time};

pub static DIALECT: Dialect = Dialect {
    name: "gpt",
    lines: Lines::Numbered,
    context: Context::Plain,
    found: Found::MUCH,
    media: Media::InRead,
    looks: Looks::Status,
    time: Time::USUAL,
    printed: RESULT,
    hidden: &[
        ("Edit", "ApplyPatch"),
        ("MultiEdit", "ApplyPatch"),
        ("EditLines", "ApplyPatch"),
        ("Delete", "ApplyPatch"),
    ],
    faces: &[
        Face::new("Read", "read"),
        Face::new("Write", "write"),
        Face::new("ApplyPatch", "apply_patch"),
        Face::new("NotebookEdit", "notebook_edit"),
        Face::new("ViewImage", "view_image"),
        Face::new("Grep", "grep").but(&[
            Field::new("-A").named("lines_after"),
            Field::new("-B").named("lines_before"),
            Field::new("-C").named("lines_around"),
            Field::new("-i").named("ignore_case"),
            Field::new("-n").named("line_numbers"),
        ]),
        Face::new("Glob", "glob"),
        Face::new("LS", "ls"),
        Face::new("Bash", "bash"),
        Face::new("JobOutput", "job_output"),
        Face::new("JobList", "job_list"),
        Face::new("JobKill", "job_kill"),
        Face::new("Process", "process"),
        Face::new("Terminal", "terminal"),
    ],
    shown: OnceLock::new(),
};
