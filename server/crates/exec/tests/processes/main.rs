//! Real processes under the real supervisor.

#![allow(clippy::panic, clippy::unwrap_used, reason = "tests fail by panicking")]

mod ends;
mod foreground;
mod jobs;
mod login;
mod sandbox;
mod supervisor;
mod support;
