//! What a folder promises beyond what all stores do.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use tempfile::TempDir;
use tokio::sync::mpsc;

use super::handles::AGE;
use super::*;
use crate::store::{Event, Said, body_of, read_object};

fn store() -> (LocalStore, TempDir) {
    let folder = tempfile::tempdir().unwrap();
    (LocalStore::new(folder.path()), folder)
}

async fn put(store: &LocalStore, object: &str, bytes: &'static str) {
    store.put(object, Existing::Replace, None, body_of(bytes.into())).await.unwrap();
}

/// All files and folders under a folder, as paths from there.
fn everything(folder: &Path) -> Vec<String> {
    fn walk(folder: &Path, within: &Path, found: &mut Vec<String>) {
        for entry in fs::read_dir(within).unwrap() {
            let path = entry.unwrap().path();
            found.push(path.strip_prefix(folder).unwrap().to_str().unwrap().to_owned());
            if path.is_dir() && !path.is_symlink() {
                walk(folder, &path, found);
            }
        }
    }
    let mut found = Vec::new();
    walk(folder, folder, &mut found);
    found.sort();
    found
}

/// A body of one piece that then fails.
fn broken_body() -> Body {
    let pieces = [Ok(Bytes::from("half")), Err(Failed::because(Failure::Other, "the source broke"))];
    Box::pin(futures_util::stream::iter(pieces))
}

#[tokio::test]
async fn a_failed_put_leaves_no_file_and_no_folder() {
    let (store, folder) = store();
    put(&store, "old/old", "old").await;
    for existing in [Existing::Keep, Existing::Replace] {
        for object in ["new", "a/b/new", "old/new", "old/old"] {
            assert!(store.put(object, existing, None, broken_body()).await.is_err());
            assert_eq!(everything(folder.path()), ["old", "old/old"], "{object}");
        }
    }
}

#[tokio::test]
async fn a_dropped_put_leaves_no_file_and_no_folder() {
    let (store, folder) = store();
    let (pieces, taken) = mpsc::channel(1);
    let body = futures_util::stream::unfold(taken, async |mut taken| Some((taken.recv().await?, taken)));
    let mut putting = store.put("a/b/new", Existing::Keep, None, Box::pin(body));
    // The second is taken only after the first was written.
    let half = async {
        for _ in 0..3 {
            pieces.send(Ok(Bytes::from(vec![7; GATHERED]))).await.unwrap();
        }
    };
    tokio::select! {
        put = &mut putting => panic!("the body has not ended: {put:?}"),
        () = half => {}
    }
    assert_eq!(everything(folder.path()).len(), 3);
    drop(putting);
    // A thread may still be writing the second. Only the folder itself is sure to stay while it is looked at.
    let gone = async {
        while fs::read_dir(folder.path()).unwrap().next().is_some() {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), gone).await.unwrap();
}

#[tokio::test]
async fn a_put_that_keeps_an_object_does_not_read_its_body() {
    let (store, _folder) = store();
    put(&store, "object", "old").await;
    let body: Body = Box::pin(futures_util::stream::pending());
    let failed = store.put("object", Existing::Keep, None, body).await.unwrap_err();
    assert_eq!(failed.kind, Failure::Exists);
}

#[tokio::test]
async fn a_folder_that_does_not_exist_has_no_objects_and_is_made_by_a_put() {
    let (_, folder) = store();
    let store = LocalStore::new(folder.path().join("not/yet"));
    assert_eq!(store.list("").await.unwrap(), []);
    assert_eq!(store.length("object").await.unwrap_err().kind, Failure::Missing);
    put(&store, "object", "bytes").await;
    assert_eq!(everything(folder.path()), ["not", "not/yet", "not/yet/object"]);
}

#[tokio::test]
async fn a_delete_removes_the_folders_that_it_leaves_empty_and_never_the_root() {
    let (store, folder) = store();
    put(&store, "a/b/one", "1").await;
    put(&store, "a/two", "2").await;
    store.delete("a/b/one").await.unwrap();
    assert_eq!(everything(folder.path()), ["a", "a/two"]);
    store.delete("a/two").await.unwrap();
    assert!(everything(folder.path()).is_empty());
    assert!(folder.path().is_dir());
}

#[tokio::test]
async fn what_a_killed_put_left_goes_with_the_last_object_unless_it_is_young_or_still_written() {
    let (store, folder) = store();
    let long_ago = SystemTime::now() - Duration::from_secs(600);
    for (name, old, locked, goes) in
        [("old", true, false, true), ("young", false, false, false), ("locked", true, true, false)]
    {
        let object = format!("{name}/object");
        put(&store, &object, "1").await;
        let left = File::create(folder.path().join(name).join(".hedgerow-put-0123456789abcdef")).unwrap();
        if old {
            left.set_modified(long_ago).unwrap();
        }
        if locked {
            left.lock().unwrap();
        }
        assert_eq!(store.list(name).await.unwrap().len(), 1, "{name}: no object");
        store.delete(&object).await.unwrap();
        assert_eq!(!folder.path().join(name).exists(), goes, "{name}");
    }
}

#[tokio::test]
async fn names_of_files_being_written_are_no_names_of_objects() {
    let (store, folder) = store();
    fs::write(folder.path().join(".hedgerow-put-1"), "half").unwrap();
    assert_eq!(store.list("").await.unwrap(), []);
    assert_eq!(store.get(".hedgerow-put-1", 10).await.unwrap_err().kind, Failure::Refused);
    let put = store.put("a/.hedgerow-put-2", Existing::Replace, None, body_of("1".into())).await;
    assert_eq!(put.unwrap_err().kind, Failure::Refused);
}

#[tokio::test]
async fn a_folder_is_no_object_and_an_object_no_folder() {
    let (store, folder) = store();
    put(&store, "a/b", "1").await;
    for object in ["a", "a/b/c"] {
        assert_eq!(store.get(object, 10).await.unwrap_err().kind, Failure::Missing, "{object}");
        assert_eq!(store.length(object).await.unwrap_err().kind, Failure::Missing, "{object}");
        assert_eq!(read_object(&store, object, 0..1).await.unwrap_err().kind, Failure::Missing, "{object}");
        assert_eq!(store.delete(object).await.unwrap_err().kind, Failure::Missing, "{object}");
        for existing in [Existing::Keep, Existing::Replace] {
            let put = store.put(object, existing, None, body_of("2".into())).await;
            assert!(matches!(put.unwrap_err().kind, Failure::Exists | Failure::Other), "{object}");
        }
    }
    assert_eq!(everything(folder.path()), ["a", "a/b"]);
}

#[tokio::test]
async fn failures_name_the_object_and_what_the_system_said() {
    let (store, folder) = store();
    let failed = store.get("a/b", 10).await.unwrap_err().to_string();
    assert!(failed.starts_with("missing: a/b: "), "{failed}");
    assert!(!failed.contains(folder.path().to_str().unwrap()), "{failed}");
    put(&store, "a/b", "12").await;
    let failed = read_object(&store, "a/b", 1..5).await.unwrap_err().to_string();
    assert_eq!(failed, "too short: a/b has no byte 2, where bytes 1 to 5 were wanted");
    let failed = read_object(&store, "a/b", u64::MAX - 1..u64::MAX).await.unwrap_err();
    assert_eq!(failed.kind, Failure::TooShort, "{failed}");
}

#[tokio::test(start_paused = true)]
async fn a_file_that_others_replaced_or_deleted_is_read_no_longer_than_its_age() {
    let (store, folder) = store();
    put(&store, "object", "old bytes").await;
    let read = async || read_object(&store, "object", 0..9).await;
    assert_eq!(read().await.unwrap(), "old bytes");
    fs::write(folder.path().join("other"), "new bytes").unwrap();
    fs::rename(folder.path().join("other"), folder.path().join("object")).unwrap();
    assert_eq!(read().await.unwrap(), "old bytes");
    tokio::time::advance(AGE).await;
    assert_eq!(read().await.unwrap(), "new bytes");
    fs::remove_file(folder.path().join("object")).unwrap();
    tokio::time::advance(AGE).await;
    assert_eq!(read().await.unwrap_err().kind, Failure::Missing);
}

#[tokio::test(start_paused = true)]
async fn a_closed_store_opens_its_files_anew() {
    let (store, folder) = store();
    put(&store, "object", "old bytes").await;
    assert_eq!(read_object(&store, "object", 0..9).await.unwrap(), "old bytes");
    fs::remove_file(folder.path().join("object")).unwrap();
    store.close();
    assert_eq!(read_object(&store, "object", 0..9).await.unwrap_err().kind, Failure::Missing);
}

fn leg(length: u64) -> (Leg, crate::store::Control, mpsc::UnboundedReceiver<Event>) {
    let (events, happened) = mpsc::unbounded_channel();
    let (leg, control) = Leg::new(1, length, events, crate::store::Holds::default());
    (leg, control, happened)
}

#[test]
fn a_read_that_was_dropped_before_it_had_a_thread_stops_when_it_gets_one() {
    let (store, folder) = store();
    fs::write(folder.path().join("object"), "bytes").unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().max_blocking_threads(1).build().unwrap();
    runtime.block_on(async {
        let (free, busy) = std::sync::mpsc::channel::<()>();
        let other = tokio::task::spawn_blocking(move || busy.recv());
        let (leg, control, mut happened) = leg(5);
        let mut read = store.read("object", 0..5, leg);
        assert!((&mut read).now_or_never().is_none());
        drop(read);
        control.cancel();
        assert!(happened.try_recv().is_err(), "nothing has begun, and nothing has stopped");
        drop(free);
        let first = happened.recv().await.unwrap().said;
        assert!(matches!(first, Said::Stopped), "{first:?}");
        assert!(happened.recv().await.is_none());
        let _ = other.await;
    });
}

#[test]
fn a_cancelled_read_ends_at_its_next_step() {
    let (leg, control, mut happened) = leg(10 * STEP);
    let read = read_steps("object", 0..10 * STEP, leg, |at, length| {
        if at == 2 * STEP {
            control.cancel();
        }
        Ok(vec![0; length])
    });
    assert_eq!(read.unwrap_err().kind, Failure::Cancelled);
    let mut said = Vec::new();
    while let Some(event) = happened.blocking_recv() {
        said.push(event.said);
    }
    assert!(matches!(said[..], [Said::Data(_), Said::Data(_), Said::Data(_), Said::Stopped]), "{said:?}");
}

#[test]
fn a_read_of_64_kib_with_its_checksums_is_one_step() {
    let pieces = |length| {
        let (leg, _control, mut happened) = leg(length);
        read_steps("object", 5..5 + length, leg, |_, length| Ok(vec![0; length])).unwrap();
        let mut pieces = Vec::new();
        while let Some(Said::Data(bytes)) = happened.blocking_recv().map(|event| event.said) {
            pieces.push(bytes.len() as u64);
        }
        pieces
    };
    assert_eq!(pieces(STEP + 17 * 4 + 4096), [STEP + 17 * 4 + 4096]);
    assert_eq!(pieces(3 * STEP), [STEP; 3]);
    assert_eq!(pieces(2 * STEP + STEP / 2 + 1), [STEP, STEP, STEP / 2 + 1]);
}

#[cfg(unix)]
mod links {
    use std::os::unix::fs::symlink;

    use super::*;

    #[tokio::test]
    async fn links_that_lead_out_are_refused_in_every_operation() {
        let (store, folder) = store();
        let outside = tempfile::tempdir().unwrap();
        fs::write(outside.path().join("secret"), "secret").unwrap();
        symlink(outside.path().join("secret"), folder.path().join("file")).unwrap();
        symlink(outside.path(), folder.path().join("folder")).unwrap();
        let outside_name = outside.path().file_name().unwrap();
        symlink(Path::new("..").join(outside_name), folder.path().join("relative")).unwrap();
        for object in ["file", "folder/secret", "relative/secret"] {
            let failed = [
                store.get(object, 10).await.err(),
                store.length(object).await.err(),
                read_object(&store, object, 0..1).await.err(),
            ];
            for failed in failed {
                assert_eq!(failed.unwrap().kind, Failure::Refused, "{object}");
            }
        }
        for within in ["folder", "relative"] {
            for object in ["secret", "new", "a/new"].map(|name| format!("{within}/{name}")) {
                for existing in [Existing::Keep, Existing::Replace] {
                    let put = store.put(&object, existing, None, body_of("1".into())).await;
                    assert_eq!(put.unwrap_err().kind, Failure::Refused, "{object}");
                }
                assert_eq!(store.delete(&object).await.unwrap_err().kind, Failure::Refused, "{object}");
            }
            assert_eq!(store.list(within).await.unwrap_err().kind, Failure::Refused, "{within}");
        }
        assert_eq!(store.list("").await.unwrap(), []);
        // The link goes or is replaced, never what it leads to.
        put(&store, "file", "new").await;
        store.delete("file").await.unwrap();
        store.delete("folder").await.unwrap();
        assert_eq!(everything(outside.path()), ["secret"]);
        assert_eq!(fs::read(outside.path().join("secret")).unwrap(), b"secret");
    }

    #[tokio::test]
    async fn links_that_stay_inside_work_and_no_object_is_listed_twice() {
        let (store, folder) = store();
        put(&store, "a/object", "bytes").await;
        symlink("object", folder.path().join("a/file")).unwrap();
        symlink("a", folder.path().join("folder")).unwrap();
        symlink(".", folder.path().join("a/loop")).unwrap();
        for object in ["a/file", "folder/object", "a/loop/object"] {
            assert_eq!(store.get(object, 10).await.unwrap(), "bytes", "{object}");
        }
        let listed = store.list("").await.unwrap();
        assert!(listed.iter().map(|entry| &*entry.object).eq(["a/file", "a/object"]), "{listed:?}");
        assert!(listed.iter().all(|entry| entry.length == 5));
    }

    #[tokio::test]
    async fn a_folder_that_may_not_be_read_does_not_hide_the_others() {
        use std::os::unix::fs::PermissionsExt;
        let (store, folder) = store();
        put(&store, "a/object", "bytes").await;
        let closed = folder.path().join("lost+found");
        fs::create_dir(&closed).unwrap();
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o000)).unwrap();
        // Who may read everything sees an empty folder.
        let readable = fs::read_dir(&closed).is_ok();
        let listed = store.list("").await.unwrap();
        assert!(listed.iter().map(|entry| &*entry.object).eq(["a/object"]), "{listed:?}");
        let asked = store.list("lost+found").await;
        assert!(readable || asked.is_err_and(|failed| failed.kind == Failure::Refused));
        fs::set_permissions(&closed, fs::Permissions::from_mode(0o700)).unwrap();
    }

    #[tokio::test]
    async fn the_folder_itself_may_be_reached_by_a_link() {
        let (real, folder) = store();
        let elsewhere = tempfile::tempdir().unwrap();
        symlink(folder.path(), elsewhere.path().join("node")).unwrap();
        put(&LocalStore::new(elsewhere.path().join("node")), "object", "bytes").await;
        assert_eq!(real.get("object", 10).await.unwrap(), "bytes");
    }

    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn a_pipe_is_no_object_and_holds_no_thread() {
        use rustix::fs::{CWD, FileType, Mode, mknodat};
        let (store, folder) = store();
        mknodat(CWD, folder.path().join("pipe"), FileType::Fifo, Mode::RUSR, 0).unwrap();
        assert_eq!(store.get("pipe", 10).await.unwrap_err().kind, Failure::Missing);
        assert_eq!(read_object(&store, "pipe", 0..1).await.unwrap_err().kind, Failure::Missing);
        assert_eq!(store.list("").await.unwrap(), []);
    }
}
