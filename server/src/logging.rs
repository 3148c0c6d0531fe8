//! Where logs go: a file that is begun anew each day, and standard error from `--log-level` on.

use std::path::PathBuf;

use tracing_subscriber::EnvFilter;
use tracing_subscriber::fmt::writer::MakeWriterExt;

/// Days of logs that are kept.
const DAYS: usize = 7;

/// Lines that may wait to be written; more are dropped. Room for all of them is taken at the start.
const LINES: usize = 4096;

/// Starts logging; gives the file, and the guard that writes the last lines when dropped.
pub fn start(
    level: Option<&str>,
) -> Option<(PathBuf, tracing_appender::non_blocking::WorkerGuard)> {
    let dir = crate::config::state_dir()?.join("logs");
    vfs::state::private_dir(&dir).ok()?;
    let appender = tracing_appender::rolling::Builder::new()
        .rotation(tracing_appender::rolling::Rotation::DAILY)
        .filename_prefix("copydesk")
        .filename_suffix("log")
        .max_log_files(DAYS)
        .build(&dir)
        .ok()?;
    let (file, guard) = tracing_appender::non_blocking::NonBlockingBuilder::default()
        .buffered_lines_limit(LINES)
        .finish(appender);
    let filter = EnvFilter::new(level.unwrap_or("info"));
    let builder =
        tracing_subscriber::fmt().with_env_filter(filter).with_ansi(false).with_target(false);
    // A second logger in one process changes nothing.
    let _ = match level {
        Some(_) => builder.with_writer(file.and(std::io::stderr)).try_init(),
        None => builder.with_writer(file).try_init(),
    };
    // The newest file is the one of today.
    let mut files = vfs::state::list(&dir).unwrap_or_default();
    files.sort();
    Some((files.pop().unwrap_or(dir), guard))
}
