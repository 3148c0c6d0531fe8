//! Carrying a plan out: before-images, one last comparison, replacement file by file, and the way back.

use std::ffi::CStr;
use std::fs::{self, File, OpenOptions, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt, symlink};
use std::path::{Path, PathBuf};

use super::plan::{Attributes, Node, Plan, Step, is_absence, matches_image, restored};
use super::{CommitError, Committed, Image, Owned, Touched, Undo, UndoEntry};
use crate::journal::{Dead, Intent, Journal, hex};
use crate::snapshot::hash_bytes;
use crate::state::sync_dir;

/// From this many bytes on a second thread is worth its while.
const LARGE: usize = 256 << 10;

/// Carries a plan out, wholly or not at all.
pub(crate) fn run(
    journal: &Journal,
    plan: Plan,
    owner: Option<(&str, &str)>,
) -> Result<(Committed, Option<Intent>), CommitError> {
    let steps: Vec<Step> =
        plan.steps.into_iter().filter(|step| step.before != step.after).collect();
    let mut undo = Undo::default();
    for (step, (before, after)) in steps.iter().zip(images(journal, &steps)?) {
        undo.entries.push(UndoEntry { path: step.path.clone(), before, after });
        undo.folders
            .extend(missing_folders(&step.path).into_iter().filter(|_| step.after.is_some()));
    }
    undo.folders.sort();
    undo.folders.dedup();
    let owned = owner.map(|(owner, name)| Owned {
        owner: owner.to_owned(),
        name: name.to_owned(),
        paths: steps.iter().map(|step| step.named.clone()).collect(),
    });
    let intent = journal.begin(&undo, owned).map_err(|error| CommitError::Io {
        path: steps.first().map(|step| step.named.clone()).unwrap_or_default(),
        error,
    })?;
    let result = carry_out(&steps);
    if let Err((cause, done)) = result {
        let left = roll_back(&steps[..done], &undo.folders);
        if let (true, Some(intent)) = (left.is_empty(), intent) {
            intent.done();
        }
        return Err(if left.is_empty() {
            cause
        } else {
            CommitError::NotPutBack { cause: Box::new(cause), left }
        });
    }
    let unlogged = match (intent, owner) {
        (Some(intent), None) => {
            intent.done();
            None
        }
        (intent, _) => intent,
    };
    remove_folders(&plan.emptied);
    let touched = steps
        .iter()
        .map(|step| Touched {
            path: step.named.clone(),
            real: step.path.clone(),
            hash: step.after.as_ref().map(Node::hash),
        })
        .collect();
    Ok((Committed { touched, undo }, unlogged))
}

/// What stands before and after.
type Images = (Option<Image>, Option<Image>);

/// Keeps what stands before, synced, since that is what a crash is taken back with. What will stand after is in
/// the file too, so it is only written. Large contents are worked on side by side.
fn images(journal: &Journal, steps: &[Step]) -> Result<Vec<Images>, CommitError> {
    let before = || -> Result<Vec<_>, CommitError> {
        let one = |it: &Step| it.before.as_ref().map(|node| kept(journal, node)).transpose();
        steps.iter().map(|it| one(it).map_err(|error| failed(it, error))).collect()
    };
    let soon = |node: &Node| node.image(|content| journal.keep_soon(content));
    let after = || -> Result<Vec<_>, CommitError> {
        let one = |it: &Step| it.after.as_ref().map(soon).transpose();
        steps.iter().map(|it| one(it).map_err(|error| failed(it, error))).collect()
    };
    let (before, after) = if steps.iter().any(is_large) {
        std::thread::scope(|scope| {
            let after = scope.spawn(after);
            (before(), after.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
        })
    } else {
        (before(), after())
    };
    Ok(before?.into_iter().zip(after?).collect())
}

fn is_large(step: &Step) -> bool {
    match &step.after {
        Some(Node::File { content, .. }) => content.bytes().len() > LARGE,
        Some(Node::Symlink { .. }) | None => false,
    }
}

fn failed(step: &Step, error: io::Error) -> CommitError {
    CommitError::Io { path: step.named.clone(), error }
}

/// Puts back what an unfinished transaction did, where nobody has changed it since.
pub(crate) fn put_back(journal: &Journal, dead: &Dead) -> Vec<PathBuf> {
    let undo = &dead.undo;
    let mut back = Vec::new();
    for entry in undo.entries.iter().rev() {
        if let Some(folder) = entry.path.parent() {
            remove_temporaries(folder, dead.process);
        }
        match put_back_entry(journal, entry) {
            Ok(true) => back.push(entry.path.clone()),
            Ok(false) => {}
            Err(error) => {
                tracing::error!(path = %entry.path.display(), %error, "a half-done change stays")
            }
        }
    }
    remove_folders(&undo.folders);
    back
}

fn put_back_entry(journal: &Journal, entry: &UndoEntry) -> io::Result<bool> {
    let now = Node::read(&entry.path)?;
    if entry.before == entry.after || !matches_image(now.as_ref(), entry.after.as_ref()) {
        return Ok(false);
    }
    let before = entry.before.as_ref().map(|image| restored(journal, image)).transpose()?;
    let step =
        Step { path: entry.path.clone(), named: entry.path.clone(), before: now, after: before };
    replace(&step)?;
    Ok(true)
}

/// The error says how many steps were carried out.
fn carry_out(steps: &[Step]) -> Result<(), (CommitError, usize)> {
    for (done, step) in steps.iter().enumerate() {
        unchanged(step).map_err(|error| (error, done))?;
        // A step that fails half-way is put back too; `replace` leaves either state.
        replace(step).map_err(|error| (io_error(step, error), done))?;
    }
    Ok(())
}

fn io_error(step: &Step, error: io::Error) -> CommitError {
    match error.kind() {
        io::ErrorKind::AlreadyExists => CommitError::Exists { path: step.named.clone() },
        io::ErrorKind::ReadOnlyFilesystem => CommitError::ReadOnly { path: step.named.clone() },
        _ => CommitError::Io { path: step.named.clone(), error },
    }
}

/// Compares the disk with what the plan was made for, just before it is carried out.
fn unchanged(step: &Step) -> Result<(), CommitError> {
    let path = step.named.clone();
    let same = match &step.before {
        Some(before) => before.stands_at(&step.path),
        None => fs::symlink_metadata(&step.path).map(|_| false),
    };
    match (same, &step.before) {
        (Ok(true), _) => Ok(()),
        (Ok(false), Some(_)) => Err(CommitError::Changed { path }),
        (Ok(false), None) => Err(CommitError::Exists { path }),
        (Err(error), Some(_)) if is_absence(&error) => Err(CommitError::Missing { path }),
        (Err(error), None) if is_absence(&error) => Ok(()),
        (Err(error), _) => Err(io_error(step, error)),
    }
}

fn replace(step: &Step) -> io::Result<()> {
    let folder = step.path.parent().unwrap_or(Path::new("/"));
    match (&step.before, &step.after) {
        (_, None) => {
            if step.before.is_some() {
                fs::remove_file(&step.path)?;
            }
        }
        (before, Some(Node::Symlink { target })) => {
            fs::create_dir_all(folder)?;
            if before.is_some() {
                fs::remove_file(&step.path)?;
            }
            symlink(target, &step.path)?;
        }
        (before, Some(Node::File { content, attributes })) => {
            fs::create_dir_all(folder)?;
            write_file(&step.path, before.as_ref(), content.bytes(), attributes)?;
        }
    }
    // The change has taken place; that its name may not survive a power cut is no reason to call it failed.
    if let Err(error) = sync_dir(folder) {
        tracing::warn!(folder = %folder.display(), %error, "a folder cannot be synced");
    }
    Ok(())
}

fn write_file(
    path: &Path,
    before: Option<&Node>,
    bytes: &[u8],
    attributes: &Attributes,
) -> io::Result<()> {
    let old = match before {
        Some(Node::File { content, .. }) => Some(content.bytes()),
        Some(Node::Symlink { .. }) | None => None,
    };
    if let Some(old) = old.filter(|_| attributes.links > 1) {
        return write_in_place(path, old, bytes);
    }
    let folder = path.parent().unwrap_or(Path::new("/"));
    let file = match (new_file(folder, bytes, attributes), old) {
        (Ok(file), _) => file,
        // What a new file cannot be given, an old one keeps when it is written in place.
        (Err(error), Some(old)) if error.kind() == io::ErrorKind::PermissionDenied => {
            return write_in_place(path, old, bytes);
        }
        (Err(error), _) => return Err(error),
    };
    let persisted = match before {
        Some(_) => file.persist(path).map(|_| ()),
        None => file.persist_noclobber(path).map(|_| ()),
    };
    persisted.map_err(|error| error.error)
}

/// Names of temporary files say whose they are, so that those of a dead process can be told and removed.
const TEMPORARY_SUFFIX: &str = ".tmp";

fn temporary_prefix(process: u32) -> String {
    format!(".copydesk-{process}-")
}

fn remove_temporaries(folder: &Path, process: u32) {
    let prefix = temporary_prefix(process);
    for entry in crate::disk::list_dir(folder).unwrap_or_default() {
        if entry.name.starts_with(&prefix) && entry.name.ends_with(TEMPORARY_SUFFIX) {
            let _ = fs::remove_file(entry.path);
        }
    }
}

/// A synced temporary file with the attributes of the one it will replace.
fn new_file(
    folder: &Path,
    bytes: &[u8],
    attributes: &Attributes,
) -> io::Result<tempfile::NamedTempFile> {
    let mut builder = tempfile::Builder::new();
    let prefix = temporary_prefix(std::process::id());
    builder.prefix(&prefix).suffix(TEMPORARY_SUFFIX);
    // The mode of new files is the process's own: 0666 less the umask.
    builder.permissions(Permissions::from_mode(0o666));
    let mut file = builder.tempfile_in(folder)?;
    file.write_all(bytes)?;
    if let Some((user, group)) = attributes.owner {
        let now = file.as_file().metadata()?;
        if (now.uid(), now.gid()) != (user, group) {
            std::os::unix::fs::fchown(file.as_file(), Some(user), Some(group))?;
        }
    }
    if let Some(mode) = attributes.mode {
        file.as_file().set_permissions(Permissions::from_mode(mode))?;
    }
    for (name, value) in &attributes.xattrs {
        let Ok(name) = CStr::from_bytes_with_nul(name) else { continue };
        set_xattr(file.as_file(), name, value)?;
    }
    file.as_file().sync_all()?;
    Ok(file)
}

fn set_xattr(file: &File, name: &CStr, value: &[u8]) -> io::Result<()> {
    match rustix::fs::fsetxattr(file, name, value, rustix::fs::XattrFlags::empty()) {
        Ok(()) => Ok(()),
        // Security labels are given by the system, the same as before.
        Err(_) if name.to_bytes().starts_with(b"security.") => Ok(()),
        Err(error) => Err(io::Error::from(error)),
    }
}

/// Writes over a file that must stay the same one. When that fails its old bytes are written again.
fn write_in_place(path: &Path, before: &[u8], bytes: &[u8]) -> io::Result<()> {
    overwrite(path, bytes).inspect_err(|_| {
        if let Err(error) = overwrite(path, before) {
            let blob = hex(&hash_bytes(before));
            tracing::error!(path = %path.display(), %blob, %error, "a file is damaged; its text is in the journal");
        }
    })
}

fn overwrite(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).open(path)?;
    file.write_all(bytes)?;
    file.set_len(bytes.len() as u64)?;
    file.sync_all()
}

/// The extended attributes of a file, names with their NUL; none where the file system has none.
pub(crate) fn read_xattrs(path: &Path) -> Vec<(Vec<u8>, Vec<u8>)> {
    const MAX: usize = 64 * 1024;
    let mut names = vec![0u8; MAX];
    let Ok(len) = rustix::fs::listxattr(path, &mut names[..]) else {
        return Vec::new();
    };
    let mut out = Vec::new();
    for name in names[..len].split_inclusive(|byte| *byte == 0) {
        let mut value = vec![0u8; MAX];
        if let Ok(c_name) = CStr::from_bytes_with_nul(name)
            && let Ok(len) = rustix::fs::getxattr(path, c_name, &mut value[..])
        {
            value.truncate(len);
            out.push((name.to_vec(), value));
        }
    }
    out
}

/// Undoes steps in reverse; the paths that could not be put back.
fn roll_back(steps: &[Step], folders: &[PathBuf]) -> Vec<PathBuf> {
    let mut left = Vec::new();
    for step in steps.iter().rev() {
        let back = Step {
            path: step.path.clone(),
            named: step.named.clone(),
            before: step.after.clone(),
            after: step.before.clone(),
        };
        if let Err(error) = unchanged(&back).map_err(io::Error::other).and_then(|()| replace(&back))
        {
            tracing::error!(path = %step.path.display(), %error, "a change could not be taken back");
            left.push(step.named.clone());
        }
    }
    remove_folders(folders);
    left
}

fn remove_folders(folders: &[PathBuf]) {
    for folder in folders.iter().rev() {
        // One that is not empty holds somebody's files and stays.
        let _ = fs::remove_dir(folder);
    }
}

pub(crate) fn kept(journal: &Journal, node: &Node) -> io::Result<Image> {
    node.image(|content| journal.keep_content(content))
}

/// The folders that must be made for `path`, the outermost first.
pub(crate) fn missing_folders(path: &Path) -> Vec<PathBuf> {
    let missing =
        path.ancestors().skip(1).take_while(|folder| fs::symlink_metadata(folder).is_err());
    let mut folders: Vec<PathBuf> = missing.map(Path::to_owned).collect();
    folders.reverse();
    folders
}
