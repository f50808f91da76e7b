//! Training with an emulated accelerator.

use crate::common::Home;

// Protects: fast storage keeps an accelerator busy, slow storage does not, and a run from memory is rejected however
// busy the accelerator was.
#[test]
fn an_accelerator_is_as_busy_as_its_storage_lets_it_be() {
    let home = Home::new();
    let share = |device: &str, code: i32| {
        let result = home.plumb(&format!("run training-resnet50-like --at {device} --json")).expect(code).json();
        let found = result["utilisation"][0].clone();
        assert_eq!((&found["phase"], &found["steps"]), (&"epoch".into(), &25.into()), "{found:#}");
        found["share"].as_f64().unwrap()
    };
    let (fast, slow) = (share("sim:nvme", 0), share("sim:hdd", 0));
    assert!(fast > 0.9 && slow < 0.9 && slow > 0.05, "{fast} and {slow}");
    assert!(share("sim:nvme?cached=100%", 3) > 0.9);
    home.plumb("run training-resnet50-like --at sim:nvme").expect(0).expect_stdout(&["utilisation", "25 steps in"]);
}
