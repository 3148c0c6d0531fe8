//! Decides whether a call may run: the only place that does.
//!
//! Invariant: deny beats ask beats allow, in every mode. Sensitive paths stay closed unless a rule of
//! the person's own names the path, power files always ask, and in a folder that is not trusted nothing
//! is changed or run unasked but for what the person allowed in this session. What is decided depends only on the
//! access (data), the rules, the mode and the trust, never on which tool asks.

mod judged;
mod rules;
pub mod shell;

use std::collections::BTreeSet;
use std::path::Path;

use crate::place::{Place, Target};
use crate::settings::Mode;
use crate::tool::{Access, Form};

use judged::Judged;
pub use rules::{Decision, Rule, RuleError, Rules, Touch};

/// What the engine decided.
#[derive(Clone, Debug, PartialEq)]
pub enum Verdict {
    /// It runs.
    Allow,
    /// The person is asked, for this reason; `suggestion` are the rules that "always" would add.
    Ask { reason: String, suggestion: Vec<String> },
    /// It does not run; the text names the rule.
    Deny { reason: String },
}

/// What a decision rests on besides the call.
pub struct Policy<'a> {
    /// All rules in force.
    pub rules: &'a Rules,
    /// The session's mode.
    pub mode: Mode,
    /// Whether the person trusts the folder.
    pub trusted: bool,
    /// The only file that may be written in plan mode.
    pub plan_file: Option<&'a Path>,
}

/// Decides one call.
pub fn decide(tool: &str, access: &Access, place: &Place, policy: &Policy<'_>) -> Verdict {
    let call = &Judged::new(tool, access, place);
    if let Some(verdict) = forbidden(call, policy) {
        return verdict;
    }
    let granted = policy.rules.of_session();
    let rules = if policy.trusted { policy.rules } else { &granted };
    let policy = &Policy { rules, ..*policy };
    let asks = [
        rule_ask(call, policy),
        read_ask(call, policy),
        write_ask(call, policy),
        command_ask(call, policy),
    ];
    let verdict = asks.into_iter().flatten().next().unwrap_or(Verdict::Allow);
    match verdict {
        // A rule for one file would not let the command through.
        Verdict::Ask { reason, .. } if access.command.is_some() && !access.writes.is_empty() => {
            Verdict::Ask { reason, suggestion: Vec::new() }
        }
        other => other,
    }
}

/// Decides whether a command, which may run, may do so outside the sandbox.
pub fn decide_outside(script: &str, place: &Place, policy: &Policy<'_>) -> Verdict {
    let script = &shell::Parsed::new(script, place.grammar);
    if let Some(rule) = policy.rules.outside(Decision::Deny, script, place) {
        return denied(format!("denied by the rule `{rule}`"));
    }
    if policy.mode == Mode::Plan {
        return denied("denied: plan mode is active".into());
    }
    let granted = policy.rules.of_session();
    let rules = if policy.trusted { policy.rules } else { &granted };
    if let Some(rule) = rules.outside(Decision::Ask, script, place) {
        return Verdict::Ask { reason: format!("the rule `{rule}` asks"), suggestion: Vec::new() };
    }
    if rules.outside(Decision::Allow, script, place).is_some() {
        return Verdict::Allow;
    }
    Verdict::Ask {
        reason: "the sandbox stopped it".into(),
        suggestion: script
            .suggestion()
            .map(|it| format!("Unsandboxed({it})"))
            .into_iter()
            .collect(),
    }
}

/// Whether a deny rule names the tool as a whole, so that it is not shown to the model.
pub fn hidden(tool: &str, rules: &Rules) -> bool {
    rules.bare(Decision::Deny, tool).is_some()
}

fn forbidden(call: &Judged<'_>, policy: &Policy<'_>) -> Option<Verdict> {
    let (access, place) = (call.access, call.place);
    if let Some(rule) = policy.rules.find(Decision::Deny, call) {
        return Some(denied(format!(
            "denied by the rule `{rule}`. Do not try another way; tell the person if it is needed."
        )));
    }
    let reads = access.reads.iter().map(|it| (it, Touch::Read));
    let writes = access.writes.iter().map(|it| (it, Touch::Write));
    for (target, touch) in reads.chain(writes) {
        let closed =
            |it: &&Path| vfs::is_sensitive(it) && !policy.rules.names_path(it, touch, place);
        if let Some(path) = target.paths().into_iter().find(closed) {
            return Some(denied(format!(
                "denied: {} holds secrets (keys, credentials or an environment file) and is never \
                 read or written. Work without it, or ask the person to add the rule `{}({})`.",
                path.display(),
                match touch {
                    Touch::Read => "Read",
                    Touch::Write => "Edit",
                },
                rules::absolute_pattern(path),
            )));
        }
    }
    if policy.mode == Mode::Plan {
        let plan = |it: &Target| target_is(it, policy.plan_file);
        if !access.writes.is_empty() && !access.writes.iter().all(plan) {
            return Some(denied(
                "denied: plan mode is active, nothing is changed. Finish the plan; the person \
                 switches the mode."
                    .into(),
            ));
        }
        if !access.stops.is_empty() {
            return Some(denied("denied: plan mode is active, jobs are not stopped.".into()));
        }
        if let Some(line) = &call.line
            && !(policy.trusted && line.only_reads())
        {
            return Some(denied(
                "denied: plan mode is active and this command may change something. Use the \
                 reading tools, or commands that only read."
                    .into(),
            ));
        }
    }
    None
}

fn rule_ask(call: &Judged<'_>, policy: &Policy<'_>) -> Option<Verdict> {
    let rule = policy.rules.find(Decision::Ask, call)?;
    Some(Verdict::Ask { reason: format!("the rule `{rule}` asks"), suggestion: Vec::new() })
}

fn read_ask(call: &Judged<'_>, policy: &Policy<'_>) -> Option<Verdict> {
    if policy.mode == Mode::Auto && policy.trusted {
        return None;
    }
    let allowed = |it: &Target| policy.rules.allows_read(call.tool, it, call.place);
    let asks = |it: &&Target| !it.inside && !is_artifact(it) && !allowed(it);
    let outside = call.access.reads.iter().find(asks)?;
    let pattern = first_path(outside).map(|it| format!("Read({})", rules::absolute_pattern(it)));
    Some(Verdict::Ask {
        reason: format!("{} lies outside the workspace", outside.location),
        suggestion: pattern.into_iter().collect(),
    })
}

fn write_ask(call: &Judged<'_>, policy: &Policy<'_>) -> Option<Verdict> {
    let ask = |it: &Target| write_ask_one(call.tool, it, call.place, policy);
    let asks: Vec<(String, Option<String>)> = call.access.writes.iter().filter_map(ask).collect();
    let rules: Option<BTreeSet<String>> = asks.iter().map(|(_, rule)| rule.clone()).collect();
    let (reason, _) = asks.into_iter().next()?;
    // One that covers a part of the call would not save the question the next time.
    let suggestion = rules.into_iter().flatten().collect();
    Some(Verdict::Ask { reason, suggestion })
}

/// Why the person is asked before a file is written, and the rule that would save the question.
fn write_ask_one(
    tool: &str,
    target: &Target,
    place: &Place,
    policy: &Policy<'_>,
) -> Option<(String, Option<String>)> {
    if policy.mode == Mode::Plan {
        return None;
    }
    if target.paths().into_iter().any(|it| is_power_file(it, place)) {
        let reason = format!(
            "{} decides what may run or what the agent is told, or is part of a repository's own data",
            target.location
        );
        return Some((reason, None));
    }
    if policy.rules.allows_write(tool, target, place) {
        return None;
    }
    let pattern = first_path(target).map(|it| format!("Edit({})", rules::pattern_for(it, place)));
    if !target.inside {
        return Some((format!("{} lies outside the workspace", target.location), pattern));
    }
    match policy.mode {
        Mode::Edit | Mode::Auto if policy.trusted => None,
        Mode::Edit | Mode::Auto | Mode::Ask | Mode::Plan => {
            Some((format!("{} is changed", target.location), pattern))
        }
    }
}

fn command_ask(call: &Judged<'_>, policy: &Policy<'_>) -> Option<Verdict> {
    let line = call.line.as_ref()?;
    let (script, place) = (&line.script, &line.place);
    if let Some(path) = script.sensitive_argument(place) {
        return Some(Verdict::Ask {
            reason: format!("the command names {path}, which may hold secrets"),
            suggestion: Vec::new(),
        });
    }
    let known = line.only_reads();
    if !line.reads()
        && let Some(path) = script.power_argument(place)
    {
        return Some(Verdict::Ask {
            reason: format!("the command may write {path}"),
            suggestion: Vec::new(),
        });
    }
    // What cannot be read could be what a rule is about.
    let hides = policy.rules.single_out_commands() && !script.is_understood();
    let auto = policy.trusted && policy.mode == Mode::Auto && !hides;
    if (policy.trusted && known) || auto || policy.rules.allows_command(call.tool, line, place) {
        return None;
    }
    let suggested = |tool: &str| {
        let rule = script.suggestion().map(|it| format!("{tool}({it})"));
        rule.into_iter().collect()
    };
    Some(match &line.access.form {
        Form::Command => {
            Verdict::Ask { reason: "a command is run".into(), suggestion: suggested("Bash") }
        }
        Form::Program => Verdict::Ask {
            reason: "a program is started that goes on".into(),
            suggestion: suggested(call.tool),
        },
        Form::Typed { terminal } => Verdict::Ask {
            reason: format!("this is typed into {terminal}"),
            suggestion: vec![format!("{}({terminal})", call.tool)],
        },
    })
}

/// Judged below the workspace folder, whose own path says nothing.
fn is_power_file(path: &Path, place: &Place) -> bool {
    let folders = place.folders();
    let below = folders.iter().find_map(|root| path.strip_prefix(root).ok());
    vfs::is_power_file(below.unwrap_or(path))
}

fn denied(reason: String) -> Verdict {
    Verdict::Deny { reason }
}

fn first_path(target: &Target) -> Option<&Path> {
    target.paths().into_iter().next_back()
}

fn target_is(target: &Target, path: Option<&Path>) -> bool {
    let paths = target.paths();
    path.is_some_and(|path| !paths.is_empty() && paths.into_iter().all(|it| it == path))
}

fn is_artifact(target: &Target) -> bool {
    matches!(&target.location, vfs::Location::Virtual(uri) if uri.starts_with("artifact:") || uri.starts_with("untitled:"))
}

#[cfg(test)]
mod tests;
