//! As OpenCode shows its tools: lower-case names and camelCase fields.

use std::sync::OnceLock;

use crate::bounds::RESULT;
use crate::dialects::{
    Context, Dialect, Face, Field, Found, Lines, Looks, Media, Needed, Preset, Time,
};

const PATH: Field = Field::new("file_path").named("filePath");

pub static DIALECT: Dialect = Dialect {
    name: "opencode",
    lines: Lines::Numbered,
    context: Context::Plain,
    found: Found::MUCH,
    media: Media::InRead,
    looks: Looks::Status,
    time: Time::USUAL,
    printed: RESULT,
    hidden: &[
        ("EditLines", "Edit"),
        ("MultiEdit", "Edit"),
        ("Delete", "ApplyPatch"),
        ("ViewImage", "Read"),
    ],
    faces: &[
        Face::new("Read", "read")
            .described(
                "Reads a file as the editor holds it, unsaved changes included, with line numbers. Shows at most \
                 2,000 lines or 100 KB; the last line says what part was shown and where to go on. Also shows \
                 images (PNG, JPEG, WebP, GIF, BMP, TIFF), PDFs (20 pages a call; `offset` and `limit` count \
                 pages) and Jupyter notebooks (cells with their ids and outputs). Read the lines you want to edit \
                 first.",
            )
            .only(&[PATH, Field::new("offset"), Field::new("limit")]),
        Face::new("Write", "write")
            .described(
                "Creates a file, with its folders, or replaces the whole text of one. A file that exists must have been \
                 read whole before; to change a part of it use `Edit`.",
            )
            .only(&[PATH, Field::new("content")]),
        Face::new("Edit", "edit").only(&[
            PATH,
            Field::new("old_string").named("oldString"),
            Field::new("new_string").named("newString"),
            Field::new("replace_all").named("replaceAll"),
        ]),
        Face::new("ApplyPatch", "apply_patch").only(&[Field::new("patch").named("patchText")]),
        Face::new("NotebookEdit", "notebook_edit").but(&[
            Field::new("notebook_path").named("notebookPath"),
            Field::new("cell_id").named("cellId"),
            Field::new("new_source").named("newSource"),
            Field::new("cell_type").named("cellType"),
            Field::new("edit_mode").named("editMode"),
        ]),
        Face::new("Grep", "grep")
            .described(
                "Searches file contents with a regular expression (ripgrep's syntax), the editor's unsaved text in \
                 place of files. Ignored and binary files are left out. Shows `path:line:text`.",
            )
            .only(&[
            Field::new("pattern"),
            Field::new("path"),
            Field::new("glob")
                .named("include")
                .described("Only files that match this glob, e.g. `*.{ts,tsx}`."),
            Field::new("output_mode").preset(Preset::Word("content")).needed(Needed::Never),
        ]),
        Face::new("Glob", "glob")
            .only(&[Field::new("pattern").needed(Needed::Always), Field::new("path")]),
        Face::new("LS", "list").only(&[Field::new("path"), Field::new("ignore")]),
        Face::new("Bash", "bash").only(&[
            Field::new("command"),
            Field::new("timeout"),
            Field::new("cwd").named("workdir"),
            Field::new("description").needed(Needed::Always),
        ]),
        Face::new("JobOutput", "job_output"),
        Face::new("JobList", "job_list"),
        Face::new("JobKill", "job_kill"),
        Face::new("Process", "process"),
        Face::new("Terminal", "pty"),
    ],
    shown: OnceLock::new(),
};
