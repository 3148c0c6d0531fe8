//! Saving buffers through the editor, and when an edited buffer is saved at all.

use std::sync::PoisonError;
use std::time::Duration;

use agent::editor::{Approval, Kept, Saved};
use agent::settings::SavePolicy;
use protocol::{SaveParams, SaveResult};
use vfs::{Dirty, Location, WriteBack};

use super::Parts;

/// How long an editor may take to save; formatters on save are slow.
const PATIENCE: Duration = Duration::from_secs(15);

/// What was known of a buffer before our edit.
#[derive(Clone, Copy, Debug)]
pub struct Before {
    /// Whether it held unsaved text.
    pub dirty: Dirty,
    /// What a save does to the rest of the file.
    pub write_back: WriteBack,
}

/// Why an edited buffer is not saved.
enum Reason {
    /// The person has not accepted the edit yet.
    Undecided,
    Other(&'static str),
}

impl Parts {
    pub(super) async fn save(&self, locations: &[Location]) -> Vec<Saved> {
        let unsaved: Vec<&Location> = locations.iter().filter(|it| self.is_unsaved(it)).collect();
        let refused = |location: &Location| {
            let write_back = self.vfs.document(location)?.write_back;
            write_back_fault(write_back).map(str::to_owned)
        };
        let wanted: Vec<&Location> =
            unsaved.iter().copied().filter(|location| refused(location).is_none()).collect();
        let results = self.request_save(&wanted).await;
        let outcome = |location: &Location| {
            if !unsaved.contains(&location) {
                return Saved::Yes;
            }
            if let Some(reason) = refused(location) {
                return Saved::No(reason);
            }
            match wanted.iter().position(|it| *it == location).and_then(|at| results.get(at)) {
                Some(saved) => saved.clone(),
                None => Saved::No("the editor did not say whether it saved".to_owned()),
            }
        };
        locations.iter().map(outcome).collect()
    }

    /// Saves an edited buffer where the policy says so.
    pub(super) async fn keep(
        &self,
        location: &Location,
        before: Before,
        approval: Approval,
    ) -> Kept {
        let policy = *self.save_policy.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(reason) = self.reason_not_to_save(location, before, approval, policy) {
            return match reason {
                Reason::Undecided => Kept::Undecided,
                Reason::Other(reason) => Kept::Buffer { reason: reason.to_owned() },
            };
        }
        match self.request_save(&[location]).await.pop() {
            Some(Saved::Yes) => Kept::Disk,
            Some(Saved::No(reason)) => Kept::Buffer { reason },
            None => Kept::Buffer { reason: "the editor did not say whether it saved".to_owned() },
        }
    }

    fn reason_not_to_save(
        &self,
        location: &Location,
        before: Before,
        approval: Approval,
        policy: SavePolicy,
    ) -> Option<Reason> {
        if matches!(location, Location::Virtual(_)) {
            return Some(Reason::Other("the document has no file"));
        }
        match before.dirty {
            Dirty::Person => {
                return Some(Reason::Other("the buffer holds unsaved text of the person's"));
            }
            Dirty::Ours if policy == SavePolicy::IfWasClean => {
                return Some(Reason::Other("earlier edits in the buffer are not saved yet"));
            }
            Dirty::Ours | Dirty::Clean => {}
        }
        if policy == SavePolicy::Never {
            return Some(Reason::Other("edits.save is \"never\""));
        }
        // Not even later.
        if let Some(fault) = write_back_fault(before.write_back) {
            return Some(Reason::Other(fault));
        }
        if !self.client.saves() {
            return Some(Reason::Other("this editor does not save on request"));
        }
        if (policy, approval) == (SavePolicy::IfWasClean, Approval::Policy) {
            return Some(Reason::Undecided);
        }
        let typed_meanwhile =
            self.vfs.document(location).is_none_or(|now| now.dirty == Dirty::Person);
        typed_meanwhile.then_some(Reason::Other("the person is typing in it"))
    }

    fn is_unsaved(&self, location: &Location) -> bool {
        self.vfs.document(location).is_some_and(|document| document.dirty != Dirty::Clean)
    }

    /// Asks the editor to save; one outcome a location, in order.
    pub(super) async fn request_save(&self, locations: &[&Location]) -> Vec<Saved> {
        if locations.is_empty() {
            return Vec::new();
        }
        let all = |reason: String| locations.iter().map(|_| Saved::No(reason.clone())).collect();
        if !self.client.saves() {
            return all("this editor does not save on request; save it by hand".to_owned());
        }
        let uris: Vec<String> = locations.iter().map(|location| self.uris.of(location)).collect();
        let request =
            self.outbox.request("copydesk/editor/save", SaveParams { uris: uris.clone() });
        let answer = match tokio::time::timeout(PATIENCE, request).await {
            Ok(Ok(answer)) => answer,
            Ok(Err(error)) => return all(format!("the editor refused: {}", error.message)),
            Err(_) => return all("the editor did not answer in time".to_owned()),
        };
        match serde_json::from_value::<SaveResult>(answer) {
            Ok(SaveResult { results }) => uris
                .iter()
                .map(|uri| match results.iter().find(|result| result.uri == *uri) {
                    Some(result) if result.saved => Saved::Yes,
                    Some(result) => Saved::No(
                        result.reason.clone().unwrap_or_else(|| "the editor refused".to_owned()),
                    ),
                    None => Saved::No("the editor did not say whether it saved".to_owned()),
                })
                .collect(),
            Err(error) => all(format!("the editor's answer is malformed: {error}")),
        }
    }
}

/// Why a save by the editor would change what nobody edited.
fn write_back_fault(write_back: WriteBack) -> Option<&'static str> {
    match write_back {
        WriteBack::Faithful => None,
        WriteBack::LineEndings => {
            Some("the file mixes line endings, and saving in this editor would rewrite all of them")
        }
        WriteBack::MalformedBytes => Some(
            "the file holds bytes that are no text, and saving in this editor would destroy them",
        ),
    }
}
