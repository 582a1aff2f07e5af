//! Control by a parent process: lines on standard input, each answered with a line of JSON on standard output.

use std::io::{self, BufRead as _, Write as _};

use serde_json::json;
use tokio::sync::{mpsc, oneshot};

use super::connections::Switch;
use super::fault::Fault;

/// Says something to the parent, in one line.
pub(super) fn say(line: &serde_json::Value) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}

/// Does what the lines say until `quit`. False if the input, or the output, ended first: the parent has gone.
pub(super) async fn obey(switches: mpsc::Sender<Switch>) -> bool {
    let mut lines = lines();
    while let Some(line) = lines.recv().await {
        let line = line.trim();
        if line == "quit" {
            return true;
        }
        let answer = match line.strip_prefix("fault ").map(str::parse) {
            Some(Ok(fault)) => switched(&switches, fault).await,
            Some(Err(why)) => Err(why),
            None => Err("`fault NAME` and `quit` are all that is understood".to_owned()),
        };
        let said = match answer {
            Ok(fault) => say(&json!({ "fault": fault.to_string() })),
            Err(why) => say(&json!({ "error": why })),
        };
        if said.is_err() {
            break;
        }
    }
    false
}

async fn switched(switches: &mpsc::Sender<Switch>, fault: Fault) -> Result<Fault, String> {
    let (done, result) = oneshot::channel();
    let ended = "the server is ending";
    switches.send((fault, done)).await.map_err(|_| ended)?;
    match result.await {
        Ok(Ok(())) => Ok(fault),
        Ok(Err(error)) => Err(format!("can't switch to {fault}: {error}")),
        Err(_) => Err(ended.to_owned()),
    }
}

/// The lines of standard input. A thread of its own reads them, because the runtime would wait at its end for a read that hangs.
fn lines() -> mpsc::Receiver<String> {
    let (send, lines) = mpsc::channel(16);
    std::thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            if send.blocking_send(line).is_err() {
                break;
            }
        }
    });
    lines
}
