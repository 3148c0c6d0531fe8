//! What crosses the wire: ACP v2 types as the agent-client-protocol crate has them, and the
//! `copydesk/*` extension that neither LSP nor ACP covers.
//!
//! Invariant: this crate knows serde and schemars and no other crate of ours, and it does not know
//! which tools exist. The TypeScript and Lua types and docs/PROTOCOL.md are generated from it.

pub use agent_client_protocol_schema as schema;
pub use agent_client_protocol_schema::v2 as acp;

pub use checkpoint::*;
pub use copydesk::*;
pub use job::*;
pub use review::*;

mod checkpoint;
mod copydesk;
mod job;
pub mod methods;
mod review;
