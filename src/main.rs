//! The command `hedgerow`.
#![forbid(unsafe_code)]

mod demo;
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
    Demo(demo::DemoArgs),
    Serve(serve::ServeArgs),
}

#[tokio::main]
async fn main() -> ExitCode {
    let end = CancellationToken::new();
    let interrupted = end.clone();
    let signals = tokio::spawn(async move {
        let code = signal().await;
        interrupted.cancel();
        code
    });
    let done: Result<(), Box<dyn Error>> = match Arguments::parse().command {
        Command::Serve(args) => serve::run(args, end).await.map_err(Into::into),
        Command::Demo(args) => tokio::select! {
            done = demo::run(args) => done.map_err(Into::into),
            Ok(code) = signals => return ExitCode::from(code),
        },
    };
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let cause = error.source().map(|cause| format!(": {cause}")).unwrap_or_default();
            eprintln!("hedgerow: {error}{cause}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(unix)]
async fn signal() -> u8 {
    use tokio::signal::unix::{SignalKind, signal};
    let Ok(mut terminated) = signal(SignalKind::terminate()) else { return std::future::pending().await };
    tokio::select! {
        _ = tokio::signal::ctrl_c() => 130,
        _ = terminated.recv() => 143,
    }
}

#[cfg(not(unix))]
async fn signal() -> u8 {
    let _came = tokio::signal::ctrl_c().await;
    130
}
