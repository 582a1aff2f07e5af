//! Control by a parent process: lines on standard input, each answered with a line of JSON on standard output.

use std::io::{self, BufRead as _, Write as _};

use serde_json::json;
use tokio::sync::{mpsc, oneshot};

use super::args;
use super::connections::Switch;
use super::fault::{self, Fault};
use super::workers::{Capacity, Workers};

/// Says something to the parent, in one line.
pub(super) fn say(line: &serde_json::Value) -> io::Result<()> {
    let mut output = io::stdout().lock();
    writeln!(output, "{line}")?;
    output.flush()
}

/// Does what the lines say until `quit`. False if the input, or the output, ended first: the parent has gone.
pub(super) async fn obey(switches: mpsc::Sender<Switch>, capacity: &Capacity) -> bool {
    let mut lines = lines();
    while let Some(line) = lines.recv().await {
        let line = line.trim();
        if line == "quit" {
            return true;
        }
        let answer = match line.split_once(' ') {
            Some(("fault", fault)) => match fault.parse() {
                Ok(fault) => {
                    switched(&switches, fault).await.map(|fault| json!({ "fault": fault.to_string() }))
                }
                Err(why) => Err(why),
            },
            Some(("workers", workers)) => {
                exchanged(capacity, workers).map(|()| json!({ "workers": workers }))
            }
            _ => {
                Err("`fault NAME`, `workers COUNT TIME`, `workers any` and `quit` are all that is understood"
                    .to_owned())
            }
        };
        let said = say(&answer.unwrap_or_else(|why| json!({ "error": why })));
        if said.is_err() {
            break;
        }
    }
    false
}

fn exchanged(capacity: &Capacity, text: &str) -> Result<(), String> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let workers = match words[..] {
        ["any"] => None,
        [count, time] => Some(Workers::new(args::workers(count)?, fault::time(time)?, false)),
        _ => return Err(format!("`{text}` is neither `any` nor a number of workers and a service time")),
    };
    capacity.exchange(workers);
    Ok(())
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
