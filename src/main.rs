//! The command `hedgerow`.
#![forbid(unsafe_code)]

mod serve;

use std::error::Error;
use std::process::ExitCode;

use clap::{Parser, Subcommand};
use tokio_util::sync::CancellationToken;

#[derive(Parser)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    Serve(serve::ServeArgs),
}

#[tokio::main]
async fn main() -> ExitCode {
    let Command::Serve(args) = Arguments::parse().command;
    let end = CancellationToken::new();
    let interrupted = end.clone();
    tokio::spawn(async move {
        signal().await;
        interrupted.cancel();
    });
    match serve::run(args, end).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            eprintln!("hedgerow: {error}{cause}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(unix)]
async fn signal() {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminated) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => {}
        _ = terminated.recv() => {}
    }
}

#[cfg(not(unix))]
async fn signal() {
    let _came = tokio::signal::ctrl_c().await;
}
