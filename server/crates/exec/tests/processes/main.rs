//! Real processes under the real supervisor.

mod ends;
mod foreground;
mod jobs;
mod support;
mod supervisor;
