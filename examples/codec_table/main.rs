//! Prints how fast this codec is: one table with this codec on each kernel, the limits of the machine, and other codecs,
//! all timed in turn in one run. `--help` says what else there is.

mod absorb;
mod check;
mod contenders;
mod field;
#[path = "../../src/cli/bench/harness.rs"]
mod harness;
#[cfg(feature = "isa-l")]
mod isa_l;
mod job;
mod limits;
mod memory;
mod options;
mod own;
mod peers;
mod slices;
mod small;
mod table;

use options::{Options, Table};

fn main() {
    let options = Options::of_command_line();
    match options.table {
        Table::Codec => table::print(&options),
        Table::Small => small::print(&options),
        Table::Slices => slices::print(&options),
        Table::Absorb => absorb::print(&options),
    }
}
