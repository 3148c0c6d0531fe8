//! The agent: sessions, turns, the gate and the tools behind it.
//!
//! Invariant: it knows no LSP, no URI and no UTF-16. It reaches files through `vfs`, processes through
//! `exec`, models through `llm` and whoever watches through [`editor::Editor`].

pub mod artifacts;
pub mod ask;
mod bounds;
mod cards;
pub mod conversation;
mod decoding;
pub mod dialects;
pub mod editor;
pub mod export;
mod footprint;
pub mod gate;
pub mod hooks;
mod in_review;
pub mod kept;
mod live;
pub mod notes;
pub mod options;
pub mod permission;
pub mod place;
pub mod programs;
mod prompt;
pub mod provider;
mod repair;
mod sandbox;
mod seen;
pub mod session;
pub mod settings;
pub mod spelling;
pub mod store;
#[cfg(test)]
mod testing;
pub mod timeline;
pub mod tool;
pub mod tools;
pub mod transcript;
mod turn;
mod unsaved;
pub mod world;

pub use decoding::DECODE;
