use super::*;
use crate::cluster::{Arrival, Release, wait_forever};
use crate::roster::{Member, Roster};
use std::os::unix::net::UnixStream;

fn link(stream: UnixStream) -> Link {
    Link { reader: Box::new(stream.try_clone().unwrap()), writer: Box::new(stream) }
}

/// Creates rank 0 and the other ranks, connected pairwise.
fn stars(size: u32, patience: Duration) -> Vec<Star> {
    stars_with_streams(size, patience).0
}

/// Same as `stars`, but also returns the connections of ranks 1, 2 ….
fn stars_with_streams(size: u32, patience: Duration) -> (Vec<Star>, Vec<UnixStream>) {
    let (here, there): (Vec<_>, Vec<_>) = (1..size).map(|_| UnixStream::pair().unwrap()).unzip();
    let streams = there.iter().map(|stream: &UnixStream| stream.try_clone().unwrap()).collect();
    let mut stars = vec![Star::lead(here.into_iter().map(link).collect(), patience, "test").unwrap()];
    for (rank, stream) in (1..size).zip(there) {
        let greeting = Greeting { protocols: Protocols::OWN, rank, size, patience, name: format!("host{rank}") };
        stars.push(Star::follow(link(stream), &greeting, "test").unwrap());
    }
    (stars, streams)
}

/// Runs `body` on each rank in a thread, and returns the results in rank order.
fn run_on_all<T: Send>(stars: &[Star], body: impl Fn(&Star) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let body = &body;
        let running: Vec<_> = stars.iter().map(|star| scope.spawn(move || body(star))).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

const LONG: Duration = Duration::from_secs(60);

// Protects: more ranks than a tree has children all report to the coordinator, know each other, and leave together.
#[test]
fn ranks_know_each_other() {
    let stars = stars(40, LONG);
    let seen = run_on_all(&stars, |star| {
        let roster = Roster::of_all(star, Member::this(), &wait_forever).unwrap();
        let release = star.barrier(Arrival::Ready, &wait_forever).unwrap();
        star.leave(Leave::Together);
        (roster.ranks(), matches!(release, Release::At(_)))
    });
    assert!(seen.iter().all(|seen| *seen == (40, true)));
    // A rank that left properly is not lost.
    assert!(stars[0].lost().is_empty());
}

// Protects ranks that read each other's files: their messages pass through rank 0, in order.
#[test]
fn messages_between_others_pass_through_rank_0() {
    let stars = stars(4, LONG);
    let seen = run_on_all(&stars, |star| {
        let rank = star.rank();
        let (next, before) = (rank % 3 + 1, (rank + 1) % 3 + 1);
        if rank == 0 {
            return true;
        }
        for number in 0..100_u8 {
            star.send(next, &[rank as u8, number], &wait_forever).unwrap();
        }
        (0..100_u8).all(|number| star.receive(before, &wait_forever).unwrap() == [before as u8, number])
    });
    assert_eq!(seen, [true; 4]);
}

/// Creates four ranks and cuts rank 2's connection without a farewell, as the kernel does for a killed process.
fn ranks_with_one_lost(carries_on: bool) -> Vec<Star> {
    let (mut stars, streams) = stars_with_streams(4, LONG);
    stars[0].carry_on(carries_on);
    streams[1].shutdown(std::net::Shutdown::Both).unwrap();
    drop(stars.remove(2));
    stars
}

// Protects the coordinator's memory from unread news, and keeps messages apart from news.
#[test]
fn news_is_separate_from_messages() {
    let stars = stars(3, LONG);
    let news = run_on_all(&stars, |star| {
        if star.rank() > 0 {
            star.tell(&[star.rank() as u8]);
            star.tell(&vec![0; NEWS_BYTES_MAX + 1]);
            star.send(0, b"done", &wait_forever).unwrap();
            return Vec::new();
        }
        assert!((1..3).all(|rank| star.receive(rank, &wait_forever).unwrap() == b"done"));
        let mut news = star.take_news();
        news.sort_unstable();
        assert!(star.take_news().is_empty());
        news
    });
    assert_eq!(news[0], [(1, vec![1]), (2, vec![2])]);
    let (here, mut flood) = UnixStream::pair().unwrap();
    let star = Star::lead(vec![link(here)], LONG, "test").unwrap();
    let news = Frame { kind: Kind::News, rank: 0, payload: vec![7; NEWS_BYTES_MAX] }.bytes();
    for _ in 0..2 * NEWS_WAITING_MAX / NEWS_BYTES_MAX {
        flood.write_all(&news).unwrap();
    }
    flood.write_all(&Frame { kind: Kind::Message, rank: 0, payload: b"done".to_vec() }.bytes()).unwrap();
    assert_eq!(star.receive(1, &wait_forever).unwrap(), b"done");
    assert_eq!(star.take_news().len(), NEWS_WAITING_MAX / NEWS_BYTES_MAX);
}

// Protects ranks that wait for a lost rank: all end, and the error names it and how it was lost.
#[test]
fn a_lost_rank_ends_the_others() {
    let stars = ranks_with_one_lost(false);
    let ended = run_on_all(&stars, |star| star.barrier(Arrival::Ready, &wait_forever).unwrap());
    for release in ended {
        let Release::End(endings) = release else { panic!("{release:?}") };
        assert_eq!((endings.len(), endings[0].rank), (1, 2), "{endings:?}");
    }
    assert_eq!(stars[0].lost(), [(2, "is lost: its connection ended".to_owned())]);
    assert_eq!(stars[0].is_to_end(), Some(EndCause::Silent(2)));
    // Rank 0 informs the others that wait for the lost rank.
    assert!(matches!(stars[1].receive(2, &wait_forever), Err(ClusterError::Silent { rank: 2, .. })));
}

// Protects jobs that do not depend on each other: the other ranks continue.
#[test]
fn others_carry_on_without_a_lost_rank() {
    let stars = ranks_with_one_lost(true);
    for _ in 0..3 {
        let released = run_on_all(&stars, |star| star.barrier(Arrival::Ready, &wait_forever).unwrap());
        assert!(released.iter().all(|release| matches!(release, Release::At(_))), "{released:?}");
    }
    assert_eq!(stars[0].is_to_end(), None);
    assert_eq!(stars[0].lost().len(), 1);
}

// Protects ranks that wait for a hung or disconnected host: its connection is open, but it is given up all the same.
#[test]
fn silent_ranks_are_detected() {
    let patience = Duration::from_secs(1);
    let (here, silent) = UnixStream::pair().unwrap();
    let star = Star::lead(vec![link(here)], patience, "test").unwrap();
    let start = Instant::now();
    let error = star.receive(1, &wait_forever).unwrap_err();
    assert!(matches!(error, ClusterError::Silent { rank: 1, .. }) && start.elapsed() >= patience);
    assert_eq!(star.lost(), [(1, "gave no sign of life for 1 s".to_owned())]);
    drop(silent);
    // A rank that is alive and has nothing to send is waited for.
    let stars = stars(2, patience);
    let waited = |_rank: u32, waited: Duration| waited < Duration::from_secs(3);
    assert!(stars[0].receive(1, &waited).is_err());
    assert!(stars[0].lost().is_empty());
}

// Protects memory and the coordinator: an invalid frame, or one that only the coordinator may send, ends the connection.
#[test]
fn invalid_frames_end_the_connection() {
    for bytes in [
        vec![9; 9],
        Frame::empty(Kind::Gone, 1).bytes(),
        Frame { kind: Kind::Message, rank: 7, payload: vec![] }.bytes(),
        Frame { kind: Kind::News, rank: 0, payload: vec![0; NEWS_BYTES_MAX + 1] }.bytes(),
    ] {
        let (here, mut hostile) = UnixStream::pair().unwrap();
        let star = Star::lead(vec![link(here)], LONG, "test").unwrap();
        hostile.write_all(&bytes).unwrap();
        assert!(star.receive(1, &wait_forever).is_err(), "{bytes:?}");
        assert_eq!(star.lost().len(), 1, "{bytes:?}");
    }
}
