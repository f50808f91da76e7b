//! probe
use plumb_engine::guard::Permissions;
use plumb_engine::signals::StopFlag;
use plumb_engine::testdir::TestDirs;
use plumb_study::compare::{compare, CompareRequest, CompareSide};
use plumb_study::run::{Bench, Silent};
use plumb_study::Place;
use plumb_workload::named::{self, Scale};
use std::time::{Duration, Instant};
pub fn probe() {
    let t = Instant::now();
    let mut bench = Bench::new(None, StopFlag::detached(), Permissions::default(), TestDirs::new(std::env::temp_dir().join("x")));
    println!("bench {:?}", t.elapsed());
    for (model, work, time, size) in [("hdd", "random-read", 2_000_000_000u64, 64u64 << 20)] {
        let t = Instant::now();
        let mut blocks = 0;
        let n = 300;
        for seed in 0..n {
            let side = |text: &str| CompareSide { name: text.to_owned(), place: Place::parse(text).unwrap() };
            let request = CompareRequest {
                baseline: side(&format!("sim:{model}")),
                candidate: side(&format!("sim:{model}?slow=5%")),
                workloads: named::select(work).unwrap(),
                scale: Scale { file_bytes: size, files: 100, time_ns: time, seed, place: named::Place::Directory },
                budget: Duration::from_secs(3600),
                rule: Default::default(),
                varying: None,
                seed,
                command: String::new(),
            };
            let o = compare(&mut bench, &request, &mut Silent).unwrap();
            blocks += o.comparison.order.len();
            if seed == 0 { for c in &o.comparison.contrasts { println!("   {:?} {} {:?} {:?} [{:?} {:?}] cv {:?}", c.baseline_value, c.metric, c.verdict, c.ratio, c.lo, c.hi, c.baseline_cv); } for f in &o.findings { println!("   {} {:?} {}", f.code, f.level, f.message); } for f in &o.comparison.left_out { println!("{}", f.reason)} }
        }
        println!("{model} {work} {time}: {:?} a comparison, {:?} a block", t.elapsed() / n as u32, t.elapsed() / blocks.max(1) as u32);
    }
}
