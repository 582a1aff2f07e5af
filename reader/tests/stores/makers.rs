//! Empty nodes, one for each test.

use hedgerow_reader::{LocalStore, MemoryStore};

use crate::suite::{Able, Made};

pub(crate) async fn memory() -> Made {
    Made::new(MemoryStore::new(), Able::ALL, ())
}

pub(crate) async fn local() -> Made {
    let folder = tempfile::tempdir().unwrap();
    Made::new(LocalStore::new(folder.path()), Able::ALL, folder)
}
