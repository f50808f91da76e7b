//! Noise floors on simulated devices: measured, stored, and applied to later comparisons.

use crate::commands::fits;
use crate::common::{Home, breadth};
use serde_json::Value;

fn floor(noise: &Value) -> f64 {
    noise["floors"][0]["floor"].as_f64().unwrap()
}

#[test]
fn noise_fits_its_schema_and_follows_the_spread() {
    let home = Home::new();
    let of = |cv: &str| home.plumb(&format!("noise sim:hdd?cv={cv} --json --no-store")).expect(0).json();
    let (quiet, loud) = (of("1%"), of("8%"));
    fits(&home, "noise", &quiet);
    assert_eq!((&quiet["schema"], &quiet["place"]), (&"plumb.noise/1".into(), &"sim:hdd?cv=1%".into()));
    assert!(quiet["floors"][0]["blocks"].as_u64().unwrap() >= 6);
    assert!(floor(&quiet) > 0.0 && floor(&loud) > 1.5 * floor(&quiet), "{quiet:#} {loud:#}");
}

/// A target compared with itself is provisioned once: variation between provisionings is not included, unless
/// requested.
#[test]
fn provisionings_have_a_floor_of_their_own() {
    let home = Home::new();
    let of = |more: &str| home.plumb(&format!("noise sim:hdd?plot=10% --json --no-store {more}")).expect(0).json();
    let (runs, plots) = (of(""), of("--plots 5"));
    assert!(floor(&runs) < 0.04, "{runs:#}");
    assert!(floor(&plots) > 2.0 * floor(&runs), "{plots:#}");
    assert_eq!((&plots["floors"][0]["unit"], &plots["plots"]), (&"plot".into(), &5.into()));
}

#[test]
fn the_page_explains_its_numbers() {
    let home = Home::new();
    home.plumb("noise sim:ssd --seed 5").expect(0).expect_stdout(&[
        "Noise floor (A/A) of sim:ssd",
        "A/A ratio",
        "Stored: comparisons of this workload here claim nothing below these floors",
    ]);
    assert_eq!(home.query("SELECT count(*) FROM noise")[0][0], 1);
    assert_eq!(home.query("SELECT count(*) FROM comparison")[0][0], 0, "an A/A is no comparison of two places");
    home.plumb("noise sim:ssd --no-store").expect(0).expect_stdout(&["Not stored"]);
}

/// The floor applies to the same workload at the same target, in any order of the sides.
#[test]
fn claims_below_the_floor_are_not_made() {
    let home = Home::new();
    let (a, b) = ("sim:hdd?bimodal=20%&bimodal-slow=60%", "sim:hdd");
    let noise = home.plumb(&format!("noise {a} --json")).expect(0).json();
    assert!(floor(&noise) > 0.05, "{noise:#}");
    for line in [format!("compare {a} {b} --json"), format!("compare {b} {a} --json")] {
        let comparison = home.plumb(&line).expect(0).json();
        let contrast = &comparison["contrasts"][0];
        assert!(contrast["floor"]["share"].as_f64().unwrap() >= floor(&noise), "{contrast:#}");
        assert_eq!(contrast["floor"]["place"], a);
        assert_ne!(contrast["verdict"], "equivalent", "5 % cannot be seen here");
    }
    home.plumb(&format!("compare {a} {b}")).expect_stdout(&["noise floor "]);
    if !breadth::is_lab() {
        return;
    }
    // Equal sides whose floor exceeds the margin are not called equal.
    home.plumb("noise sim:ssd?cv=9% --seed 1").expect(0);
    let reported = home.plumb("compare sim:ssd?cv=9% sim:ssd?cv=9% --json --seed 2").json();
    let other = home.plumb("compare sim:nvme sim:nvme --json").expect(0).json();
    assert!(reported["contrasts"][0]["floor"].is_object());
    assert!(other["contrasts"][0]["floor"].is_null(), "another place has no floor");
    let work = home.plumb("compare sim:ssd?cv=9% sim:ssd?cv=9% --for stream-read --json").json();
    assert!(work["contrasts"][0]["floor"].is_null(), "nor has other work");
    let size = home.plumb("compare sim:ssd?cv=9% sim:ssd?cv=9% --size 32MiB --json").json();
    assert!(size["contrasts"][0]["floor"].is_null(), "nor another size");
    let longer = home.plumb("compare sim:ssd?cv=9% sim:ssd?cv=9% --time 500ms --json").json();
    assert!(longer["contrasts"][0]["floor"].is_object(), "longer or shorter runs are the same work");
}

#[test]
fn without_trusted_runs_there_is_no_floor() {
    let home = Home::new();
    home.plumb("noise sim:ssd?cached=60% --for stream-read").expect(3).expect_stdout(&[
        "Rejected: ",
        "No noise floor for sim:ssd?cached=60%",
        // The numbers are present nonetheless.
        "rejected stream-read read.bw",
        "GB/s",
        "rejected by checks",
        "plumb explain A1",
    ]);
    assert_eq!(home.query("SELECT count(*) FROM noise")[0][0], 0);
}

#[test]
fn one_seed_gives_one_floor() {
    let home = Home::new();
    let floors =
        |seed: u32| home.plumb(&format!("noise sim:hdd --json --no-store --seed {seed}")).json()["floors"].clone();
    assert_eq!(floors(7), floors(7));
    assert_ne!(floors(7), floors(8));
}
