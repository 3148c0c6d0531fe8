//! One answer, from the first try to its last event.

use std::collections::VecDeque;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use futures::stream;
use reqwest::Response;
use tokio_util::sync::CancellationToken;

use super::Link;
use super::fault::{Failure, Retry};
use crate::settings::shown;
use crate::sse::Sse;
use crate::wire::{Decoder, Fault, Progress};
use crate::{Error, Event, EventStream};

const TRIES: u32 = 5;
/// A server that asks for a longer pause is reported instead.
const LONGEST_PAUSE: Duration = Duration::from_secs(60);
/// The most bytes of one answer.
const LARGEST_ANSWER: usize = 64 << 20;
const BOM: &[u8] = b"\xef\xbb\xbf";
/// How much of the beginning is kept for error texts.
const HEAD: usize = 1_200;

pub(super) fn stream(
    link: Arc<Link>,
    url: String,
    body: Bytes,
    cancel: CancellationToken,
) -> EventStream {
    let answer = Answer {
        decoder: link.wire.decoder(),
        link,
        url,
        body,
        tries: 0,
        delivered: false,
        out: VecDeque::new(),
        phase: Phase::Ask,
    };
    Box::pin(stream::unfold((answer, cancel), |(mut answer, cancel)| async move {
        answer.next(&cancel).await.map(|event| (event, (answer, cancel)))
    }))
}

struct Answer {
    link: Arc<Link>,
    url: String,
    body: Bytes,
    decoder: Box<dyn Decoder>,
    tries: u32,
    /// Some content was decoded: the request must not be repeated.
    delivered: bool,
    out: VecDeque<Event>,
    phase: Phase,
}

enum Phase {
    Ask,
    Pause(Duration),
    Read(Reading),
    /// All events are out; the rest of the body is read so that the connection can be used again.
    Drain(Response),
    /// To be reported once the events before it are out.
    Failed(Error),
    Over,
}

struct Reading {
    response: Response,
    head: Vec<u8>,
    size: usize,
    form: Form,
    /// Events were seen, so a sudden end is a cut, not another language.
    events: bool,
}

/// What the body turned out to be.
enum Form {
    Unknown,
    Events(Sse),
    Json(Vec<u8>),
}

impl Answer {
    async fn next(&mut self, cancel: &CancellationToken) -> Option<Result<Event, Error>> {
        loop {
            if cancel.is_cancelled() && !matches!(self.phase, Phase::Over | Phase::Drain(_)) {
                self.out.clear();
                self.phase = Phase::Over;
                return Some(Err(Error::Cancelled));
            }
            if let Some(event) = self.out.pop_front() {
                return Some(Ok(event));
            }
            match std::mem::replace(&mut self.phase, Phase::Over) {
                Phase::Over => return None,
                Phase::Failed(error) => return Some(Err(error)),
                phase => {
                    let complete = matches!(phase, Phase::Drain(_));
                    let step = self.step(phase);
                    // The phase holds the connection and is dropped with the step.
                    let done = tokio::select! {
                        biased;
                        () = cancel.cancelled() => return (!complete).then_some(Err(Error::Cancelled)),
                        done = step => done,
                    };
                    self.phase = match done {
                        Ok(phase) => phase,
                        Err(failure) => self.failed(*failure),
                    };
                }
            }
        }
    }

    async fn step(&mut self, phase: Phase) -> Result<Phase, Box<Failure>> {
        match phase {
            Phase::Ask => self.ask().await,
            Phase::Pause(pause) => {
                tokio::time::sleep(pause).await;
                Ok(Phase::Ask)
            }
            Phase::Read(reading) => self.read(reading).await,
            Phase::Drain(mut response) => {
                let rest = async { while let Ok(Some(_)) = response.chunk().await {} };
                let _ = tokio::time::timeout(Duration::from_millis(100), rest).await;
                Ok(Phase::Over)
            }
            Phase::Failed(_) | Phase::Over => Ok(phase),
        }
    }

    async fn ask(&mut self) -> Result<Phase, Box<Failure>> {
        self.tries += 1;
        self.decoder = self.link.wire.decoder();
        let link = &self.link;
        tracing::debug!(
            url = shown(&self.url),
            try_ = self.tries,
            bytes = self.body.len(),
            "asking the model"
        );
        // A local server may read a long prompt for minutes before its first byte.
        let wait = if link.loopback { link.idle_timeout * 10 } else { link.idle_timeout };
        let client = link.client.get().map_err(Failure::last)?;
        let request = client.post(&self.url).headers(link.headers.clone()).body(self.body.clone());
        let response = match tokio::time::timeout(wait, request.send()).await {
            Ok(Ok(response)) => response,
            Ok(Err(e)) => return Err(link.no_connection(&self.url, &e)),
            Err(_) => return Err(self.silence("waiting for the answer to begin", wait)),
        };
        tracing::debug!(
            url = shown(&self.url),
            status = response.status().as_u16(),
            "the model server answered"
        );
        if !response.status().is_success() {
            return Err(link.refused(&self.url, response).await);
        }
        Ok(Phase::Read(Reading {
            response,
            head: Vec::new(),
            size: 0,
            form: Form::Unknown,
            events: false,
        }))
    }

    async fn read(&mut self, mut reading: Reading) -> Result<Phase, Box<Failure>> {
        let wait = self.link.idle_timeout;
        match tokio::time::timeout(wait, reading.response.chunk()).await {
            Ok(Ok(Some(chunk))) => self.take(reading, &chunk),
            Ok(Ok(None)) => self.closed(reading),
            Ok(Err(_)) if self.decoder.end(&mut self.out) == Progress::Done => Ok(Phase::Over),
            Ok(Err(_)) => Err(cut()),
            // Some servers keep the line open after the last word.
            Err(_) if self.decoder.end(&mut self.out) == Progress::Done => Ok(Phase::Over),
            Err(_) => Err(self.silence("reading the answer", wait)),
        }
    }

    fn take(&mut self, mut reading: Reading, chunk: &[u8]) -> Result<Phase, Box<Failure>> {
        reading.size += chunk.len();
        let room = HEAD.saturating_sub(reading.head.len()).min(chunk.len());
        reading.head.extend_from_slice(&chunk[..room]);
        if reading.size > LARGEST_ANSWER {
            return Err(self.garbage("the answer is endless", &reading.head));
        }
        let begun;
        let chunk = if matches!(reading.form, Form::Unknown) {
            // All bytes so far are in `head`, unless thousands of blanks came first.
            let text = reading.head.strip_prefix(BOM).unwrap_or(&reading.head);
            match text.iter().find(|byte| !byte.is_ascii_whitespace()) {
                None if reading.head.len() == HEAD => {
                    return Err(self.garbage("blanks", &reading.head));
                }
                None => return Ok(Phase::Read(reading)),
                Some(b'<') => return Err(self.garbage("a web page", &reading.head)),
                Some(b'{' | b'[') => reading.form = Form::Json(Vec::new()),
                Some(_) => reading.form = Form::Events(Sse::default()),
            }
            begun = [&reading.head, &chunk[room..]].concat();
            begun.as_slice()
        } else {
            chunk
        };
        match &mut reading.form {
            Form::Json(body) => body.extend_from_slice(chunk),
            Form::Unknown => {}
            Form::Events(sse) => {
                let mut outcome = Ok(Progress::More);
                let fits = sse.push(chunk, &mut |_, data| {
                    reading.events = true;
                    if outcome == Ok(Progress::More) {
                        outcome = event(&mut *self.decoder, data, &mut self.out)
                            .map_err(|fault| (fault, beginning(data)));
                    }
                });
                self.note_delivery();
                match outcome {
                    Ok(Progress::Done) => return Ok(Phase::Drain(reading.response)),
                    Ok(Progress::More) => {}
                    Err((fault, data)) => return Err(self.link.fault(&self.url, fault, &data)),
                }
                if fits.is_err() {
                    return Err(self.garbage("a line or event is endless", &reading.head));
                }
            }
        }
        Ok(Phase::Read(reading))
    }

    /// The server closed the stream, properly as far as HTTP goes.
    fn closed(&mut self, reading: Reading) -> Result<Phase, Box<Failure>> {
        match reading.form {
            Form::Unknown => Err(cut()),
            Form::Json(body) => {
                let value = match serde_json::from_slice(body.strip_prefix(BOM).unwrap_or(&body)) {
                    Ok(value) => value,
                    Err(e) if e.is_eof() => return Err(cut()),
                    Err(e) => return Err(self.garbage(&e.to_string(), &reading.head)),
                };
                let result = self.decoder.whole(value, &mut self.out);
                self.note_delivery();
                match result {
                    Ok(()) => Ok(Phase::Over),
                    Err(fault) => Err(self.link.fault(&self.url, fault, &reading.head)),
                }
            }
            Form::Events(mut sse) => {
                let mut outcome = Ok(Progress::More);
                // A torn event is no news: the cut is what matters.
                let _ = sse.finish(&mut |_, data| {
                    outcome = event(&mut *self.decoder, data, &mut self.out)
                });
                self.note_delivery();
                match outcome {
                    Ok(Progress::Done) => return Ok(Phase::Over),
                    Err(fault @ Fault::Refused { .. }) => {
                        return Err(self.link.fault(&self.url, fault, &reading.head));
                    }
                    Ok(Progress::More) | Err(Fault::Garbage(_)) => {}
                }
                if self.decoder.end(&mut self.out) == Progress::Done {
                    Ok(Phase::Over)
                } else if reading.events
                    || reading.head.starts_with(b":")
                    || is_field(&reading.head)
                {
                    Err(cut())
                } else {
                    Err(self.garbage("no events", &reading.head))
                }
            }
        }
    }

    /// Repeats the request when that can help, otherwise lets the error out after the events before it.
    fn failed(&mut self, failure: Failure) -> Phase {
        self.note_delivery();
        let pause = match failure.retry {
            Retry::Never => None,
            Retry::Soon => Some(self.pause()),
            Retry::After(asked) => Some(asked),
        };
        match pause {
            Some(pause) if !self.delivered && self.tries < TRIES && pause <= LONGEST_PAUSE => {
                let notice = format!("retrying in {} ({})", spoken(pause), failure.reason);
                tracing::info!(url = shown(&self.url), notice, "the model request failed");
                self.out.clear();
                self.out.push_back(Event::Notice(notice));
                Phase::Pause(pause)
            }
            Some(_) | None => {
                tracing::info!(url = shown(&self.url), error = %failure.error, "the model request failed for good");
                Phase::Failed(failure.error)
            }
        }
    }

    /// Doubles each time; up to a quarter less or more, so that many clients do not come back together.
    fn pause(&self) -> Duration {
        let doubled = self.link.backoff * 2u32.pow(self.tries.saturating_sub(1).min(10));
        let random = (RandomState::new().hash_one(self.tries) % 1_000) as f64 / 1_000.0;
        doubled.mul_f64(0.75 + random / 2.0).min(LONGEST_PAUSE)
    }

    fn note_delivery(&mut self) {
        self.delivered = self.delivered || self.out.iter().any(Event::is_content);
    }

    fn silence(&self, doing: &'static str, after: Duration) -> Box<Failure> {
        Failure::last(Error::Timeout { url: shown(&self.url), doing, after })
    }

    fn garbage(&self, what: &str, came: &[u8]) -> Box<Failure> {
        Failure::last(self.link.malformed(&self.url, what, came))
    }
}

fn event(
    decoder: &mut dyn Decoder,
    data: &[u8],
    out: &mut VecDeque<Event>,
) -> Result<Progress, Fault> {
    if data.iter().all(u8::is_ascii_whitespace) {
        return Ok(Progress::More);
    }
    decoder.event(data, out)
}

fn cut() -> Box<Failure> {
    Failure::new(Error::Cut, Retry::Soon, "the connection closed")
}

fn beginning(data: &[u8]) -> Vec<u8> {
    data[..data.len().min(HEAD)].to_vec()
}

/// Whether the text begins like server-sent events do.
fn is_field(head: &[u8]) -> bool {
    [&b"data:"[..], b"event:", b"id:", b"retry:"].iter().any(|field| {
        let shared = field.len().min(head.len());
        head[..shared] == field[..shared]
    })
}

fn spoken(pause: Duration) -> String {
    match pause.as_millis() {
        ms if ms < 1_000 => format!("{:.1} s", pause.as_secs_f64()),
        _ => format!("{} s", pause.as_secs_f64().round()),
    }
}
