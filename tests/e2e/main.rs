//! The real binary from outside: a fake editor on its pipes, a fake model on a socket, real files and processes.
//!
//! One module is one part of the contract. `tidy` fails when a file of this folder is missing from the list below.

#![allow(
    clippy::disallowed_methods,
    clippy::panic,
    clippy::unwrap_used,
    reason = "tests stand outside the product: they make files, start processes and fail by panicking"
)]

mod back_again;
mod bad_input;
mod bare;
mod blocking;
mod bytes;
mod cases;
mod checkpoints;
mod checkpoints_moves;
mod checkpoints_pending;
mod cli;
mod commands;
mod corners;
mod dialects;
mod editor;
mod edits;
mod faults;
mod folders;
mod found;
mod frames;
mod generated;
mod hooks;
mod killed;
mod lifecycle;
mod model;
mod moves;
mod notebook;
mod order;
mod parts;
mod patch;
mod permissions;
mod places;
mod positions;
mod processes;
mod random_edits;
mod reading;
mod review;
mod review_files;
mod review_told;
mod sandbox;
mod scenarios;
mod search;
mod servers;
mod sessions;
mod shells;
mod stopping;
mod sync;
mod terminals;
mod tidy;
mod turns;
mod typing;
mod unasked;
mod undo;
mod unsaved;
mod windows;
mod workspace;
