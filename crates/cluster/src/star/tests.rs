use super::*;
use crate::cluster::{Arrival, Release, wait_forever};
use crate::roster::{Member, Roster};
use std::os::unix::net::UnixStream;

fn link(stream: UnixStream) -> Link {
    Link { reader: Box::new(stream.try_clone().unwrap()), writer: Box::new(stream) }
}

/// Rank 0 and the others, each with its end of a connection.
fn stars(size: u32, patience: Duration) -> Vec<Star> {
    stars_with_streams(size, patience).0
}

/// The same, and the connections of ranks 1, 2 ….
fn stars_with_streams(size: u32, patience: Duration) -> (Vec<Star>, Vec<UnixStream>) {
    let (here, there): (Vec<_>, Vec<_>) = (1..size).map(|_| UnixStream::pair().unwrap()).unzip();
    let streams = there.iter().map(|stream: &UnixStream| stream.try_clone().unwrap()).collect();
    let mut stars = vec![Star::lead(here.into_iter().map(link).collect(), patience, "test").unwrap()];
    for (rank, stream) in (1..size).zip(there) {
        let greeting = Greeting { rank, size, patience, name: format!("host{rank}") };
        stars.push(Star::follow(link(stream), &greeting, "test").unwrap());
    }
    (stars, streams)
}

/// Runs the same on each rank, and gives what each came to, in order.
fn together<T: Send>(stars: &[Star], body: impl Fn(&Star) -> T + Sync) -> Vec<T> {
    std::thread::scope(|scope| {
        let body = &body;
        let running: Vec<_> = stars.iter().map(|star| scope.spawn(move || body(star))).collect();
        running.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

const LONG: Duration = Duration::from_secs(60);

// Protects: more ranks than a tree has children all report to the one that leads, know each other, and leave as one.
#[test]
fn everybody_knows_everybody() {
    let stars = stars(40, LONG);
    let seen = together(&stars, |star| {
        let roster = Roster::of_all(star, Member::this(), &wait_forever).unwrap();
        let release = star.barrier(Arrival::Ready, &wait_forever).unwrap();
        star.leave(Leave::Together);
        (roster.ranks(), matches!(release, Release::At(_)))
    });
    assert!(seen.iter().all(|seen| *seen == (40, true)));
    // Who has left is no loss.
    assert!(stars[0].lost().is_empty());
}

// Protects ranks that read each other's files: what they send each other goes by way of rank 0, in order.
#[test]
fn others_reach_each_other_by_way_of_rank_0() {
    let stars = stars(4, LONG);
    let seen = together(&stars, |star| {
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

/// Four ranks, of which rank 2 goes without a word: as the kernel ends the connection of a process that was killed.
fn without_one(carries_on: bool) -> Vec<Star> {
    let (mut stars, streams) = stars_with_streams(4, LONG);
    stars[0].carry_on(carries_on);
    streams[1].shutdown(std::net::Shutdown::Both).unwrap();
    drop(stars.remove(2));
    stars
}

// Protects the leader's memory from unread news, and messages from being mixed up with news.
#[test]
fn news_are_told_beside_messages() {
    let stars = stars(3, LONG);
    let told = together(&stars, |star| {
        if star.rank() > 0 {
            star.tell(&[star.rank() as u8]);
            star.tell(&vec![0; NEWS_BYTES_MAX + 1]);
            star.send(0, b"done", &wait_forever).unwrap();
            return Vec::new();
        }
        assert!((1..3).all(|rank| star.receive(rank, &wait_forever).unwrap() == b"done"));
        let mut told = star.told();
        told.sort_unstable();
        assert!(star.told().is_empty());
        told
    });
    assert_eq!(told[0], [(1, vec![1]), (2, vec![2])]);
    let (here, mut flood) = UnixStream::pair().unwrap();
    let star = Star::lead(vec![link(here)], LONG, "test").unwrap();
    let news = Frame { kind: Kind::News, rank: 0, payload: vec![7; NEWS_BYTES_MAX] }.bytes();
    for _ in 0..2 * NEWS_WAITING_MAX / NEWS_BYTES_MAX {
        flood.write_all(&news).unwrap();
    }
    flood.write_all(&Frame { kind: Kind::Message, rank: 0, payload: b"done".to_vec() }.bytes()).unwrap();
    assert_eq!(star.receive(1, &wait_forever).unwrap(), b"done");
    assert_eq!(star.told().len(), NEWS_WAITING_MAX / NEWS_BYTES_MAX);
}

// Protects those who wait for a rank that is lost: all end, it is named, and how it was lost.
#[test]
fn a_lost_rank_ends_the_others() {
    let stars = without_one(false);
    let ended = together(&stars, |star| star.barrier(Arrival::Ready, &wait_forever).unwrap());
    for release in ended {
        let Release::End(endings) = release else { panic!("{release:?}") };
        assert_eq!((endings.len(), endings[0].rank), (1, 2), "{endings:?}");
    }
    assert_eq!(stars[0].lost(), [(2, "is lost: its connection ended".to_owned())]);
    assert_eq!(stars[0].is_to_end(), Some(EndCause::Silent(2)));
    // Rank 0 tells the others that wait for the lost rank.
    assert!(matches!(stars[1].receive(2, &wait_forever), Err(ClusterError::Silent { rank: 2, .. })));
}

// Protects jobs that do not depend on each other: the others go on.
#[test]
fn others_carry_on_without_a_lost_rank() {
    let stars = without_one(true);
    for _ in 0..3 {
        let released = together(&stars, |star| star.barrier(Arrival::Ready, &wait_forever).unwrap());
        assert!(released.iter().all(|release| matches!(release, Release::At(_))), "{released:?}");
    }
    assert_eq!(stars[0].is_to_end(), None);
    assert_eq!(stars[0].lost().len(), 1);
}

// Protects whoever waits for a host that hangs, or is cut off: its connection is open, and it is given up all the same.
#[test]
fn silence_is_told_from_life() {
    let patience = Duration::from_secs(1);
    let (here, silent) = UnixStream::pair().unwrap();
    let star = Star::lead(vec![link(here)], patience, "test").unwrap();
    let start = Instant::now();
    let error = star.receive(1, &wait_forever).unwrap_err();
    assert!(matches!(error, ClusterError::Silent { rank: 1, .. }) && start.elapsed() >= patience);
    assert_eq!(star.lost(), [(1, "gave no sign of life for 1 s".to_owned())]);
    drop(silent);
    // Who lives and has nothing to say is waited for.
    let stars = stars(2, patience);
    let waited = |_rank: u32, waited: Duration| waited < Duration::from_secs(3);
    assert!(stars[0].receive(1, &waited).is_err());
    assert!(stars[0].lost().is_empty());
}

// Protects memory, and the rank that leads: what is no frame, and what only the one that leads may say, ends the connection.
#[test]
fn frames_that_nobody_sends_end_the_connection() {
    for bytes in [
        vec![9; 9],
        Frame::sign(Kind::Gone, 1).bytes(),
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
