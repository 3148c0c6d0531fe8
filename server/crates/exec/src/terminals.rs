//! Programs on terminals: typed into, waited for, looked at.
//!
//! Nobody but the person answers a password prompt: what would be typed into one is refused, also
//! where the prompt comes up in the middle of what is typed.

use std::time::Duration;

use tokio::time::Instant;

use crate::attended::Attended;
use crate::command::{InputError, JobId, Status};
use crate::final_text::final_text;
use crate::jobs::Jobs;
use crate::keys::Stroke;
use crate::run::{Run, State};
use crate::screen::ScreenText;
use crate::secret_prompt::asks;
use crate::supervisor::Exit;

/// How long a program that has printed nothing yet is given before it counts as quiet.
const FIRST: Duration = Duration::from_millis(1500);
/// How long the screen has to be still once what was waited for is there.
const STILL: Duration = Duration::from_millis(80);
/// Between two lines that are typed: the program may ask for a password after the first.
const LINE_STILL: Duration = Duration::from_millis(30);
const LINE_MOST: Duration = Duration::from_millis(600);
/// Of the output in which a text is looked for.
const LOOKED_THROUGH: usize = 64 * 1024;

/// Where a terminal stood when something was typed.
#[derive(Debug, Clone)]
pub struct Mark {
    total: u64,
    screen: String,
}

impl Mark {
    /// Before anything was printed.
    pub fn start() -> Mark {
        Mark { total: 0, screen: String::new() }
    }
}

/// What is waited for.
#[derive(Debug, Clone)]
pub struct Until {
    /// This text, printed since the mark; without one, quiet.
    pub text: Option<String>,
    /// How long nothing may come until it is quiet.
    pub quiet: Duration,
    /// At most this long.
    pub within: Duration,
}

/// What became of typing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Typed {
    All,
    /// The program asks for a password; so many pieces were not typed any more.
    AskedForSecret {
        left: usize,
    },
}

/// How the wait ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Came {
    /// The text is there.
    Text,
    /// Nothing more came.
    Quiet,
    /// The program has ended.
    Ended,
    /// The program asks for a password, which was not told of before.
    Secret,
    /// Not in time.
    Late,
}

/// A terminal as it stands.
#[derive(Debug, Clone)]
pub struct View {
    pub screen: ScreenText,
    pub status: Status,
    pub exit: Option<Exit>,
    /// The question, if the program waits for a password.
    pub secret: Option<String>,
    /// Whether that question was not seen before.
    pub secret_is_new: bool,
}

impl Jobs {
    /// Has the owner watch a job: it is not told of an end it sees meanwhile.
    pub fn attend(&self, job: &JobId) -> Option<Attended> {
        Some(Attended::enter(self.find(job)?, job.clone()))
    }

    /// Where a terminal stands now; `None` when there is none of this id.
    pub fn mark(&self, job: &JobId) -> Option<Mark> {
        let run = self.find(job)?;
        run.state(|state| {
            let screen = state.screen.as_ref()?.plain();
            Some(Mark { total: state.capture.total(), screen })
        })
    }

    /// Types into a terminal, line by line, up to a password prompt.
    pub async fn type_into(&self, job: &JobId, strokes: &[Stroke]) -> Result<Typed, InputError> {
        for (at, stroke) in strokes.iter().enumerate() {
            let run = self.find(job).ok_or_else(|| InputError::NotFound(job.clone()))?;
            let (cursor, total) = run.state(|state| {
                let screen = state.screen.as_ref().ok_or(InputError::NoTerminal(job.clone()))?;
                let cursor = secret(state).is_none().then(|| screen.cursor_keys());
                Ok((cursor, state.capture.total()))
            })?;
            let Some(cursor) = cursor else {
                return Ok(Typed::AskedForSecret { left: strokes.len() - at });
            };
            self.write(job, &stroke.bytes(cursor))?;
            if stroke.ends_line() && at + 1 < strokes.len() {
                let limit = Instant::now() + LINE_MOST;
                run.news(total, limit).await;
                run.quiet(Instant::now(), LINE_STILL, limit).await;
            }
        }
        Ok(Typed::All)
    }

    /// Waits as asked; `None` when there is no such terminal.
    pub async fn await_terminal(&self, job: &JobId, mark: &Mark, until: &Until) -> Option<Came> {
        let run = self.find(job)?;
        let begun = Instant::now();
        let limit = begun + until.within;
        loop {
            let now = Instant::now();
            let (came, again) = run.state(|state| {
                let text = until.text.as_deref();
                if text.is_some_and(|text| has_come(state, mark, text)) {
                    return (Some(Came::Text), limit);
                }
                if state.ending.finished.is_some() {
                    return (Some(Came::Ended), limit);
                }
                // One that was told of is the person's to answer, which may take a while.
                if state.secret_told != Some(state.capture.total()) && secret(state).is_some() {
                    return (Some(Came::Secret), limit);
                }
                match text {
                    Some(_) => (None, limit),
                    None => {
                        let printed = mark.total < state.capture.total();
                        let due = if printed {
                            state.last_output.max(begun) + until.quiet
                        } else {
                            begun + until.quiet.max(FIRST)
                        };
                        ((due <= now).then_some(Came::Quiet), due.min(limit))
                    }
                }
            });
            match came {
                Some(Came::Text) => {
                    run.quiet(now, STILL, limit.min(now + LINE_MOST)).await;
                    return Some(Came::Text);
                }
                Some(came) => return Some(came),
                None if limit <= now => return Some(Came::Late),
                None => {
                    let total = run.state(|state| state.capture.total());
                    run.news(total, again).await;
                }
            }
        }
    }

    /// The question of a program that waits for a password.
    pub fn secret_prompt(&self, job: &JobId) -> Option<String> {
        self.find(job)?.state(|state| secret(state))
    }

    /// A terminal's screen with `above` lines that scrolled off it. Its owner has seen its end then.
    pub fn view(&self, job: &JobId, above: usize) -> Option<View> {
        let run = self.find(job)?;
        run.state(|state| {
            let question = secret(state);
            let total = state.capture.total();
            let screen = state.screen.as_mut()?.text(above);
            let is_new = question.is_some() && state.secret_told != Some(total);
            if question.is_some() {
                state.secret_told = Some(total);
            }
            let finished = state.ending.finished.is_some();
            state.told |= finished;
            Some(View {
                screen,
                status: state.status(),
                exit: state.ending.exit.clone(),
                secret: question,
                secret_is_new: is_new,
            })
        })
    }
}

impl Run {
    /// Waits until nothing was printed for `still` since `since`, at most until `limit`.
    async fn quiet(&self, since: Instant, still: Duration, limit: Instant) {
        loop {
            let due = self.state(|state| {
                let ended = state.ending.finished.is_some();
                if ended { since } else { state.last_output.max(since) + still }
            });
            let now = Instant::now();
            if due <= now || limit <= now {
                return;
            }
            let total = self.state(|state| state.capture.total());
            self.news(total, due.min(limit)).await;
        }
    }

    /// Waits for more than `total` bytes of output or the end, at most until `limit`.
    async fn news(&self, total: u64, limit: Instant) {
        let news =
            self.until(|state| state.ending.finished.is_some() || total < state.capture.total());
        // Nothing new is an answer too.
        let _ = tokio::time::timeout_at(limit, news).await;
    }
}

/// The question a program asks, if it waits for a password.
pub(crate) fn secret(state: &State) -> Option<String> {
    let screen = state.screen.as_ref()?;
    let echo = state.size.as_ref()?.echo()?;
    let line = screen.before_cursor();
    (!screen.is_full() && asks(&line, echo)).then(|| line.trim().to_owned())
}

fn has_come(state: &State, mark: &Mark, text: &str) -> bool {
    let printed = state.capture.since(mark.total, LOOKED_THROUGH).bytes;
    if final_text(&printed).contains(text) {
        return true;
    }
    // Programs that fill the screen write a text in pieces.
    let screen = state.screen.as_ref().map(|screen| screen.plain()).unwrap_or_default();
    screen.contains(text) && !mark.screen.contains(text)
}
