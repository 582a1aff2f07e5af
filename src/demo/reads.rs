//! Reads of the file through a client of their own, so that each run begins without the memory of those before it.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use hedge_core::{Mode, Span};
use hedgerow_reader::{Client, ClientConfig, ReadOptions, StripedReader};

use super::pace::Reads;
use super::plan::{Hedging, Load};

/// A request without a sign of life for so long has failed, and so has a connection that is not there by then.
pub(crate) const SILENCE: Duration = Duration::from_secs(1);
/// A read fails after so long.
pub(crate) const DEADLINE: Duration = Duration::from_secs(5);

/// What a client of the demo is told, which may have so many requests under way.
pub(crate) fn client(hedging: Hedging, threshold: Span, load: Load, requests: usize) -> ClientConfig {
    let mut config = ClientConfig::default();
    config.governor = hedging.governor(threshold);
    config.connect_timeout = SILENCE;
    // Where nodes are busy, waiting is no sign of death.
    config.silence = if load == Load::Heavy { DEADLINE } else { SILENCE };
    config.deadline = Some(DEADLINE);
    // Nothing but the nodes is to make reads wait.
    config.requests = requests;
    config.requests_per_node = requests;
    config.memory = 1 << 30;
    config
}

/// Reads as the demo measures them.
pub(crate) struct Striped {
    reader: StripedReader,
    options: ReadOptions,
}

impl Striped {
    /// Reads with this kind of hedging.
    pub(crate) fn new(reader: StripedReader, hedging: Hedging) -> Arc<Self> {
        let mode = if hedging == Hedging::Off { Mode::Off } else { Mode::Hedge };
        Arc::new(Self { reader, options: ReadOptions::default().mode(mode) })
    }
}

impl Reads for Striped {
    async fn read(&self, offset: u64, length: u64) -> Result<Bytes, String> {
        self.reader.read_with(offset, length, self.options).await.map_err(|error| error.to_string())
    }
}

/// Waits until nothing of a client's reads goes on anywhere, as long as a user would.
pub(crate) async fn shut_down(client: &Client) {
    // What does not end in time ends with its server or with this process.
    let _ = tokio::time::timeout(DEADLINE, client.shutdown()).await;
}
