//! The command `hedgerow`.
#![forbid(unsafe_code)]

mod cli;
mod demo;
mod serve;

fn main() -> std::process::ExitCode {
    cli::main()
}
