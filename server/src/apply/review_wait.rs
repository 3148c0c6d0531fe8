//! Calls that wait for the person's decisions on what they changed.
//!
//! Invariant: whether a hunk is pending is the ledger's to say alone; what is noted here is only
//! what became of it. A decision is noted before it is carried out, so that nobody sees a hunk gone
//! without seeing why.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, MutexGuard, PoisonError};

use agent::editor::{Outcome, Reviewed};
use review::{Decision, Hunk, HunkId, Ledger, Origin};
use serde_json::json;
use tokio::sync::watch;
use tower_lsp::lsp_types::MessageType;
use vfs::Location;

use super::Parts;
use crate::review::{Held, accept_call};

/// Characters of a comment.
const COMMENT: usize = 2_000;

/// The calls that wait. Those that do not any more go by themselves.
#[derive(Default)]
pub struct Waits(Mutex<Vec<Wait>>);

struct Wait {
    session: String,
    call: String,
    hunks: BTreeMap<HunkId, Fate>,
    comments: Vec<String>,
    told: watch::Sender<Reviewed>,
}

/// What is known of one hunk.
struct Fate {
    file: String,
    is_pending: bool,
    /// The last decision, in words.
    decision: Option<(Decision, String)>,
}

impl Waits {
    /// A call waits from now on, until the receiver is dropped.
    pub fn begin(&self, session: &str, call: &str) -> watch::Receiver<Reviewed> {
        let (told, decisions) = watch::channel(Reviewed::default());
        let (session, call) = (session.to_owned(), call.to_owned());
        let (hunks, comments) = (BTreeMap::new(), Vec::new());
        self.lock().push(Wait { session, call, hunks, comments, told });
        decisions
    }

    /// The sessions that hear of decisions on a hunk by a call that waits.
    pub fn sessions(&self, origin: &Origin) -> BTreeSet<String> {
        let waits = self.lock();
        let waiting = waits.iter().filter(|it| it.is_of(origin));
        waiting.map(|it| it.session.clone()).collect()
    }

    /// The person decides on a hunk; what that means in words, and what they say to it.
    pub fn decided(&self, hunk: &Hunk, decision: Decision, words: &str, comment: Option<&str>) {
        for wait in self.lock().iter_mut().filter(|it| it.is_of(&hunk.origin)) {
            if let Some(fate) = wait.hunks.get_mut(&hunk.id) {
                fate.decision = Some((decision, words.to_owned()));
            }
            let comment = comment.map(str::trim).filter(|it| !it.is_empty());
            let comment: Option<String> = comment.map(|it| it.chars().take(COMMENT).collect());
            wait.comments.extend(comment.filter(|it| !wait.comments.contains(it)));
        }
    }

    /// Decisions on these hunks are taken back, or failed.
    pub fn undecided(&self, hunks: &BTreeSet<HunkId>) {
        for wait in self.lock().iter_mut() {
            for (_, fate) in wait.hunks.iter_mut().filter(|(id, _)| hunks.contains(*id)) {
                fate.decision = None;
            }
        }
    }

    /// Looks what is pending now; gives the calls that begin to wait, with their files.
    pub fn look(&self, ledger: &Ledger<Location>) -> Vec<BTreeSet<String>> {
        let mut waits = self.lock();
        if waits.is_empty() {
            return Vec::new();
        }
        let views = ledger.list();
        let mut begun = Vec::new();
        for wait in waits.iter_mut() {
            wait.hunks.values_mut().for_each(|it| it.is_pending = false);
            let own = |hunk: &&Hunk| hunk.origin.calls.contains(&wait.call);
            for view in &views {
                for hunk in view.hunks.iter().filter(own) {
                    let file = view.file.to_string();
                    let new = || Fate { file, is_pending: true, decision: None };
                    wait.hunks.entry(hunk.id.clone()).or_insert_with(new).is_pending = true;
                }
            }
            let now = wait.reviewed();
            if now.pending > 0 && wait.told.borrow().pending == 0 {
                begun.push(wait.hunks.values().map(|it| it.file.clone()).collect());
            }
            wait.told.send_if_modified(|told| {
                let is_new = *told != now;
                *told = now;
                is_new
            });
        }
        begun
    }

    fn lock(&self) -> MutexGuard<'_, Vec<Wait>> {
        let mut waits = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        waits.retain(|it| !it.told.is_closed());
        waits
    }
}

impl Wait {
    fn is_of(&self, origin: &Origin) -> bool {
        origin.is_of(&self.session) && origin.calls.contains(&self.call)
    }

    fn reviewed(&self) -> Reviewed {
        let pending = self.hunks.values().filter(|it| it.is_pending).count();
        let decided = self.hunks.values().filter(|it| !it.is_pending);
        let outcomes = decided.map(|fate| match &fate.decision {
            Some((Decision::Accept, words)) => Outcome { words: words.clone(), is_out: false },
            Some((Decision::Reject, words)) => Outcome { words: words.clone(), is_out: true },
            None => {
                let words = format!("undone or typed over by the person: {}", fate.file);
                Outcome { words, is_out: true }
            }
        });
        Reviewed { pending, outcomes: outcomes.collect(), comments: self.comments.clone() }
    }
}

impl Parts {
    /// Lets the calls that wait know what is pending now.
    pub(super) fn tell_waits(&self) {
        let begun = self.waits.look(&self.review.table().ledger);
        if self.client.markers.is_some() {
            return;
        }
        for files in begun {
            let files: Vec<String> = files.into_iter().collect();
            let message = format!(
                "The agent waits for your review of {}. Accept or reject its changes with the lenses, \
                 the code actions, or copydesk.accept and copydesk.reject.",
                files.join(", ")
            );
            let message = json!({"type": MessageType::INFO, "message": message});
            self.outbox.notify("window/showMessage", message);
        }
    }

    /// Accepts all that a call has just changed.
    pub(super) fn accept_at_once<'a>(
        &self,
        held: &Held,
        locations: impl IntoIterator<Item = &'a Location>,
        call: &str,
    ) {
        let token = self.review.table().ledger.token();
        for location in locations {
            held.decide(location, None, |ledger| accept_call(ledger, location, call, token));
        }
    }
}
