use super::*;
use crate::conduct::fake::{Call, FakeHosts, Shared, plan, world};

fn checked(plan: &Plan, world: &Shared, depth: Depth) -> Preflight {
    let mut hosts = FakeHosts(world.clone());
    preflight(plan, |_| true, &mut hosts, depth, StopFlag::detached(), &mut |_| ())
}

fn loops(size: &str) -> Vec<Step> {
    plumb_document::json::from_str(&format!(
        r#"[{{"kind": "loop", "name": "d", "directory": "/var/tmp", "size": "{size}"}}]"#
    ))
    .unwrap()
}

/// `a` and `b` are built differently, each on its own host.
fn two_hosts() -> Plan {
    let mut planned = plan(&["a", "b"], &["4k", "64k"], 3, 2);
    for plot in &mut planned.plots {
        plot.host = plot.levels["system"].clone();
        plot.steps = loops(if plot.host == "a" { "1MiB" } else { "2MiB" });
        planned.hosts.insert(plot.host.clone(), HostPlan::Local);
    }
    planned
}

fn problem(text: &str) -> Objection {
    Objection { text: text.to_owned(), kind: ObjectionKind::Wrong }
}

// Protects: a plan with many plots inspects each host and each plot once, and an inspection builds nothing.
#[test]
fn each_host_and_each_provisioning_is_inspected_once() {
    let world = world(|_, _, _| 1e8);
    world.borrow_mut().inspect = Box::new(|inspection| {
        assert_eq!(inspection.builds.len(), 1);
        vec![]
    });
    let found = checked(&two_hosts(), &world, Depth::Inspect);
    assert!(found.is_good() && found.warnings.is_empty() && found.unchecked.is_empty(), "{found:?}");
    let hosts: Vec<(&str, usize, usize)> =
        found.checked.iter().map(|host| (host.host.as_str(), host.provisionings, host.built)).collect();
    assert_eq!(hosts, [("a", 1, 0), ("b", 1, 0)]);
    assert_eq!(world.borrow().calls, [Call::Inspect, Call::Inspect]);
    // Completed runs need no inspection.
    let mut hosts = FakeHosts(world.clone());
    let plan = two_hosts();
    let of_a = |plot: u32| plan.plots[plot as usize].host == "a";
    let found = preflight(&plan, of_a, &mut hosts, Depth::Inspect, StopFlag::detached(), &mut |_| ());
    assert_eq!(found.checked.len(), 1);
}

#[test]
fn a_trial_builds_each_provisioning_once_and_leaves_nothing() {
    let world = world(|_, _, _| 1e8);
    let found = checked(&two_hosts(), &world, Depth::Build);
    assert!(found.is_good() && found.checked.iter().all(|host| host.built == 1), "{found:?}");
    let calls = world.borrow().calls.clone();
    assert_eq!(calls.iter().filter(|call| matches!(call, Call::Build(_))).count(), 2);
    assert_eq!((world.borrow().standing, calls.last()), (0, Some(&Call::Close)));
}

// Protects: one cause on several hosts is one line, and a warning does not prevent a study.
#[test]
fn all_problems_are_reported_once() {
    let world = world(|_, _, _| 1e8);
    world.borrow_mut().inspect = Box::new(|inspection| {
        let doubt = Objection { text: "may be full".to_owned(), kind: ObjectionKind::Doubtful };
        let of_one = plumb_document::json::to_string(&inspection.builds[0].steps).unwrap().contains("2MiB");
        if of_one { vec![problem("no mdadm"), problem("no room")] } else { vec![problem("no mdadm"), doubt] }
    });
    let found = checked(&two_hosts(), &world, Depth::Build);
    let texts: Vec<(Vec<String>, &str)> =
        found.problems.iter().map(|problem| (problem.hosts.clone(), problem.text.as_str())).collect();
    assert_eq!(texts, [(vec!["a".into(), "b".into()], "no mdadm"), (vec!["b".into()], "no room")]);
    assert_eq!(found.warnings.len(), 1);
    assert!(!world.borrow().calls.iter().any(|call| matches!(call, Call::Build(_))), "nothing is built that cannot be");
    world.borrow_mut().inspect =
        Box::new(|_| vec![Objection { text: "refused".to_owned(), kind: ObjectionKind::Refused }]);
    assert!(checked(&two_hosts(), &world, Depth::Inspect).is_refused());
}

#[test]
fn a_host_that_is_not_reached_is_a_problem_unless_a_command_brings_it_up() {
    let world = world(|_, _, _| 1e8);
    world.borrow_mut().faults =
        Box::new(|call| (call == Call::Inspect).then(|| HostError::Lost("box: connection refused".to_owned())));
    let mut planned = two_hosts();
    assert_eq!(checked(&planned, &world, Depth::Inspect).problems.len(), 1);
    for plot in &mut planned.plots {
        plot.on_enter = vec!["true start".to_owned()];
    }
    let found = checked(&planned, &world, Depth::Inspect);
    assert!(found.is_good() && found.unchecked.len() == 2, "{found:?}");
    // A malformed command line is reported whether the host is up or not.
    planned.plots[0].on_leave = vec!["if true".to_owned()];
    let found = checked(&planned, &world, Depth::Inspect);
    assert!(found.problems[0].text.starts_with("on-leave `if true`"), "{found:?}");
}

// Protects: the data of the largest level is compared with the space at its place.
#[test]
fn works_are_named_with_the_space_they_take() {
    let mut planned = plan(&["a"], &["4k", "64k"], 1, 1);
    let of = |size: &str| {
        format!(
            "name = \"w\"\n[target.data.file]\npath = \"data\"\nsize = \"{size}\"\n[[phase]]\nname = \"read\"\n[[phase.workers]]\n\
             target = \"data\"\nwork.blocks.block = \"4KiB\"\n"
        )
    };
    planned.runs[0].work = HostWork::Native { toml: of("1MiB") };
    planned.runs[1].work = HostWork::Native { toml: of("ram*2") };
    let build = planned_build(&planned, &[], &[0], 1 << 30);
    assert_eq!(build.work.len(), 1);
    assert_eq!(build.work[0].bytes, Some(2 << 30));
    assert_eq!(build.work[0].place, WorkPlace::Directory("/tmp".to_owned()));
}

// Protects: a study does not begin if its first plot would end with "not found".
#[test]
fn a_missing_program_of_a_factor_is_found_before_the_first_run() {
    let world = world(|_, _, _| 1e8);
    let with = |enter: &str, leave: &str| {
        let mut plan = two_hosts();
        for plot in &mut plan.plots {
            plot.on_enter = vec![enter.to_owned()];
            plot.on_leave = vec![leave.to_owned()];
        }
        checked(&plan, &world, Depth::Inspect)
    };
    let found = with("no-such-vmrun start", "true");
    assert!(!found.is_good());
    let [problem] = found.problems.as_slice() else { panic!("{:?}", found.problems) };
    assert!(problem.text.contains("on-enter `no-such-vmrun start`: this machine has no program `no-such-vmrun`"));
    assert_eq!((problem.kind, problem.hosts.len()), (ProblemKind::Wrong, 2));
    let found = with("true", "no-such-vmrun stop");
    assert!(found.is_good() && found.warnings.len() == 1, "{found:?}");
    assert!(with("true && echo up", "no-such-vmrun stop || true").warnings.is_empty());
}
