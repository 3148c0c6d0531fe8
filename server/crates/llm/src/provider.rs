//! The trait behind which every wire format stands, and `connect`, which picks one.

use std::pin::Pin;
use std::sync::Arc;

use async_trait::async_trait;
use futures::Stream;
use tokio_util::sync::CancellationToken;

use crate::http::HttpProvider;
use crate::replay::Replay;
use crate::{
    Error, Event, Protocol, Request, Settings, anthropic, gemini, openai, openai_responses,
};

/// Ends after a `Stop` event or an error. Dropping it drops the connection.
pub type EventStream = Pin<Box<dyn Stream<Item = Result<Event, Error>> + Send>>;

/// A model service.
#[async_trait]
pub trait Provider: Send + Sync {
    /// Starts an answer. It returns before the server is reached: refusals, retries (as notices) and network errors come
    /// through the stream. Cancelling makes the stream end with `Error::Cancelled` and drops the connection at once.
    async fn stream(
        &self,
        request: Request,
        cancel: CancellationToken,
    ) -> Result<EventStream, Error>;

    /// The provider's name in the settings.
    fn name(&self) -> &str;

    /// The names of the models on offer, in the server's order.
    async fn models(&self) -> Result<Vec<String>, Error>;
}

/// Checks the settings and prepares the client; touches no network.
pub fn connect(settings: Settings) -> Result<Arc<dyn Provider>, Error> {
    Ok(match settings.protocol {
        Protocol::Anthropic => {
            Arc::new(HttpProvider::new(settings, Arc::new(anthropic::Anthropic))?)
        }
        Protocol::Openai => Arc::new(HttpProvider::new(settings, Arc::new(openai::Openai))?),
        Protocol::OpenaiResponses => {
            Arc::new(HttpProvider::new(settings, Arc::new(openai_responses::OpenaiResponses))?)
        }
        Protocol::Gemini => Arc::new(HttpProvider::new(settings, Arc::new(gemini::Gemini))?),
        Protocol::Replay => Arc::new(Replay::new(&settings)?),
    })
}
