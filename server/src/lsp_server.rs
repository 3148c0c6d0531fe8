//! `copydesk lsp`: one editor over one pair of streams.

use std::io::{BufReader, Read, Write};
use std::time::Duration;

use tokio::runtime::Handle;
use vfs::Vfs;

use crate::backend::{Backend, DIRECT};
pub use crate::backend::{Opening, Start};
use crate::capabilities;
use crate::outbox::Outbox;
pub use crate::transport::End;
use crate::transport::Transport;

/// Bytes read from the client at a time.
const READ_BUFFER: usize = 256 * 1024;
/// How long what runs may take to end once the client has gone.
const STOP: Duration = Duration::from_secs(4);
/// How long a client that does not read may hold up the end.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What a server needs to begin.
pub struct ServeOptions {
    /// Where the client's frames come from.
    pub input: Box<dyn Read + Send>,
    /// Where ours go.
    pub output: Box<dyn Write + Send>,
    /// The documents; its unit and line breaks are set by `initialize`.
    pub vfs: Vfs,
    /// Makes the sessions at `initialize`. Must not block.
    pub start: Start,
}

/// Serves one client until it leaves.
///
/// # Errors
/// No thread could be started.
pub async fn serve(options: ServeOptions) -> std::io::Result<End> {
    let ServeOptions { input, output, vfs, start } = options;
    let outbox = Outbox::start(output)?;
    let service = Backend::service(outbox.clone(), vfs, start);
    let transport = Transport {
        service,
        direct: DIRECT,
        complete_initialize: capabilities::add_notebook_sync,
        outbox: outbox.clone(),
        runtime: Handle::current(),
    };
    let (ended, end) = tokio::sync::oneshot::channel();
    let thread = std::thread::Builder::new().name("transport".into());
    thread.spawn(move || {
        let input = BufReader::with_capacity(READ_BUFFER, input);
        // The receiver is gone only when the runtime is.
        let _ = ended.send(transport.run(input));
    })?;
    let Ok((end, service)) = end.await else { return Ok(End::Abrupt) };
    outbox.disconnect();
    if tokio::time::timeout(STOP, service.inner().stop()).await.is_err() {
        tracing::warn!("not everything that ran has ended in time");
    }
    outbox.close(LAST_WORDS);
    Ok(end)
}
