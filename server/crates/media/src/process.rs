//! The decoding process: a request on standard input, answers on standard output, one a line.
//!
//! Invariant: it opens nothing, and the system ends it when it takes too much memory or time.

use std::io::{self, BufRead, Read, Write};
use std::process;
use std::thread;

use rustix::process::{Resource, Rlimit, setrlimit};

use crate::{Answer, Request, document, picture};

/// Bytes of address space.
const MEMORY: u64 = 3 << 30;
/// Seconds of computing.
const SECONDS: u64 = 60;
/// Bytes of stack: documents nest.
const STACK: usize = 64 << 20;

/// Serves one request and exits: 0 when it was answered, with a refusal or not.
pub fn decode_main() -> ! {
    for (resource, most) in [(Resource::As, MEMORY), (Resource::Cpu, SECONDS), (Resource::Core, 0)]
    {
        let limit = Rlimit { current: Some(most), maximum: Some(most) };
        if setrlimit(resource, limit).is_err() && cfg!(target_os = "linux") {
            process::exit(3);
        }
    }
    std::panic::set_hook(Box::new(|_| {}));
    let served =
        thread::Builder::new().stack_size(STACK).spawn(serve).map(thread::JoinHandle::join);
    match served {
        Ok(Ok(Ok(()))) => process::exit(0),
        Ok(Ok(Err(_)) | Err(_)) | Err(_) => process::exit(4),
    }
}

fn serve() -> io::Result<()> {
    let mut input = io::stdin().lock();
    let mut line = String::new();
    input.by_ref().take(1_000).read_line(&mut line)?;
    let request: Request = serde_json::from_str(&line)?;
    let mut bytes = Vec::new();
    input.read_to_end(&mut bytes)?;
    let mut output = io::stdout().lock();
    let mut failed = Ok(());
    decoded(request, bytes, |answer| {
        let written = serde_json::to_vec(&answer).map_err(io::Error::from).and_then(|mut line| {
            line.push(b'\n');
            output.write_all(&line)?;
            output.flush()
        });
        if failed.is_ok() {
            failed = written;
        }
    });
    failed
}

/// What a request comes to, in this very process.
pub(crate) fn decoded(request: Request, bytes: Vec<u8>, mut tell: impl FnMut(Answer)) {
    match request {
        Request::Picture => tell(match picture::decode(&bytes) {
            Ok(picture) => Answer::Picture(picture),
            Err(why) => Answer::Refused(why),
        }),
        Request::Pages { first, last, shown } => document::pages(bytes, (first, last), shown, tell),
    }
}
