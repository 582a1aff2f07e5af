//! The command line.

use std::process::exit;

use crate::job::{CELLS, Job, Place, Schema};
use crate::memory::Placement;

const HELP: &str = "\
Times this codec and others in turn, on one thread. GB/s of input: k x cell / time.

usage: codec_table [options]

what to print
  (nothing)           the table: encode and rebuild, all schemas, cells, places and contenders
  --small             instead: nanoseconds of small calls, of plans, of detection
  --slices            instead: encode and CRC32C, of whole cells and slice by slice
  --absorb            instead: pieces as they arrive against all at once
  --json              the table as one JSON object a line; hedgerow-runtime and hedgerow-cached only if --contender names them
  --quick             fewer rounds: about 20 seconds for the table

which rows (lists with commas; contenders by any part of their name)
  --job encode,rebuild
  --schema rs-6-3,rs-10-4,rs-12-3,rs-3-2
  --cell 4k,64k,1m
  --where hot,dram
  --contender hedgerow,isa-l

where the cells lie
  --page-aligned      each on the start of a page
  --offset N          each N bytes (0 to 63) past the start of a cache line
  --mixed-offsets     each at another offset
  --extra N           each N bytes longer
  --small-pages       don't ask the system for huge pages
  --pool MIB          size of what is streamed through for dram (default: at least 1 GiB and 8 times the last cache)

  --help              this text
";

/// Which table.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Table {
    Codec,
    Small,
    Slices,
    Absorb,
}

/// What the command line asks for.
#[derive(Clone, Debug)]
pub(crate) struct Options {
    pub(crate) table: Table,
    pub(crate) json: bool,
    pub(crate) quick: bool,
    pub(crate) jobs: Vec<Job>,
    pub(crate) schemas: Vec<Schema>,
    pub(crate) cells: Vec<(usize, Place)>,
    /// Parts of names; none: everybody.
    pub(crate) contenders: Vec<String>,
    pub(crate) placement: Placement,
    pub(crate) extra: usize,
    pub(crate) huge_pages: bool,
    /// Bytes to stream through.
    pub(crate) pool: Option<usize>,
}

impl Options {
    /// Reads the command line. Prints and ends the program where it asks for help (0) or can't be understood (2).
    pub(crate) fn of_command_line() -> Self {
        match Self::parse(std::env::args().skip(1)) {
            Ok(Some(options)) => options,
            Ok(None) => {
                print!("{HELP}");
                exit(0)
            }
            Err(why) => {
                eprintln!("codec_table: {why}\n\n{HELP}");
                exit(2)
            }
        }
    }

    fn parse(mut arguments: impl Iterator<Item = String>) -> Result<Option<Self>, String> {
        let mut options = Self {
            table: Table::Codec,
            json: false,
            quick: false,
            jobs: Job::ALL.to_vec(),
            schemas: Schema::ALL.to_vec(),
            cells: CELLS.to_vec(),
            contenders: Vec::new(),
            placement: Placement::default(),
            extra: 0,
            huge_pages: true,
            pool: None,
        };
        while let Some(flag) = arguments.next() {
            let mut value = || arguments.next().ok_or(format!("{flag} wants a value"));
            match &flag[..] {
                "--small" => options.table = Table::Small,
                "--slices" => options.table = Table::Slices,
                "--absorb" => options.table = Table::Absorb,
                "--json" => options.json = true,
                "--quick" => options.quick = true,
                "--job" => choose(&mut options.jobs, &value()?, |job| job.name().into())?,
                "--schema" => choose(&mut options.schemas, &value()?, |schema| schema.name())?,
                "--cell" => choose(&mut options.cells, &value()?, |cell| short(cell.0))?,
                "--where" => choose(&mut options.cells, &value()?, |cell| cell.1.name().into())?,
                "--contender" => options.contenders.extend(value()?.split(',').map(String::from)),
                "--page-aligned" => options.placement.page_aligned = true,
                "--offset" => options.placement.offset = number(&value()?, 63)?,
                "--mixed-offsets" => options.placement.mixed = true,
                "--extra" => options.extra = number(&value()?, 1 << 20)?,
                "--small-pages" => options.huge_pages = false,
                "--pool" => options.pool = Some(number(&value()?, 1 << 20)? << 20),
                "--help" | "-h" => return Ok(None),
                _ => return Err(format!("unknown argument {flag}")),
            }
        }
        if options.json && options.table != Table::Codec {
            return Err("--json goes with the main table only".into());
        }
        Ok(Some(options))
    }

    /// Whether the rows of this contender are asked for.
    pub(crate) fn wants(&self, contender: &str) -> bool {
        if self.contenders.is_empty() {
            // Programs that read the objects get one row a kernel for this codec, unless they ask for more.
            return !(self.json && contender.starts_with("hedgerow-"));
        }
        self.contenders.iter().any(|part| contender.contains(&part[..]))
    }
}

/// Keeps what the list names. A name that there isn't is an error.
fn choose<T>(all: &mut Vec<T>, list: &str, name: impl Fn(&T) -> String) -> Result<(), String> {
    for wanted in list.split(',') {
        if !all.iter().any(|item| name(item) == wanted) {
            let names: Vec<String> = all.iter().map(&name).collect();
            return Err(format!("no {wanted} among {}", names.join(" ")));
        }
    }
    all.retain(|item| list.split(',').any(|wanted| name(item) == wanted));
    Ok(())
}

fn number(text: &str, most: usize) -> Result<usize, String> {
    text.parse().ok().filter(|&number| number <= most).ok_or(format!("{text}: not a number from 0 to {most}"))
}

/// A length as 4k or 1m.
pub(crate) fn short(len: usize) -> String {
    if len >= 1 << 20 { format!("{}m", len >> 20) } else { format!("{}k", len >> 10) }
}
