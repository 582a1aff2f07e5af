//! How many files this process and its servers may have open: each request under way needs a socket.

/// What is asked for: the servers, too, inherit it.
const WANTED: u64 = 16_384;

/// Files that are open besides sockets of requests, and sockets that are still closing.
const OTHERS: usize = 128;

/// Requests that may be under way at a time, once the limit is as high as the system allows.
pub(crate) fn requests() -> usize {
    let files = usize::try_from(raised().min(WANTED)).unwrap_or(usize::MAX);
    files.saturating_sub(OTHERS).max(OTHERS)
}

/// Raises the limit, which is 1,024 or 256 on many systems, for the sake of programs that a higher one would confuse.
#[cfg(unix)]
fn raised() -> u64 {
    use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
    let Rlimit { current, maximum } = getrlimit(Resource::Nofile);
    let wanted = maximum.map_or(WANTED, |maximum| maximum.min(WANTED));
    match current {
        Some(now) if now < wanted => {
            let raised = setrlimit(Resource::Nofile, Rlimit { current: Some(wanted), maximum });
            if raised.is_ok() { wanted } else { now }
        }
        Some(now) => now,
        None => WANTED,
    }
}

#[cfg(not(unix))]
fn raised() -> u64 {
    WANTED
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_is_room_for_requests_and_asking_again_changes_nothing() {
        let first = requests();
        assert!((OTHERS..=WANTED as usize).contains(&first), "{first}");
        assert_eq!(requests(), first);
    }
}
