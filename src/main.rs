//! The command `hedgerow`.
#![forbid(unsafe_code)]

mod cli;
mod demo;
mod plan;
mod serve;
mod show;
mod simulate;

fn main() -> std::process::ExitCode {
    cli::main()
}
