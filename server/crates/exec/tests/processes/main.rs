//! Real processes under the real supervisor.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests fail by panicking")]

mod ends;
mod foreground;
mod hostile;
mod jobs;
mod login;
mod readiness;
mod sandbox;
mod shells;
mod supervisor;
mod support;
mod terminals;
