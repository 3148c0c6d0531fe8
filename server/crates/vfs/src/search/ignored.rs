//! ignored
