//! Findings of a sweep in words.

use crate::format;
use plumb_result::remedy::budget_text;
use plumb_result::run::TierName;
use plumb_result::sweep::{
    Agreement, Arrivals, CacheEdge, Knee, KneeFound, LevelPlace, Rise, Saturation, SweepCurve, SweepPoint,
};
use plumb_result::{MIN_SAMPLES_BEYOND, Sweep, SweepKey};

/// Returns the findings of a curve, one sentence each.
pub fn words(sweep: &Sweep, curve: &SweepCurve) -> Vec<String> {
    let mut wording = Vec::new();
    // The requested limit comes first.
    if let Some(within) = &curve.found.within {
        let limit = format::time(within.limit_ns as f64);
        let kind = match curve.arrivals {
            Arrivals::Poisson => "response time",
            Arrivals::Closed => "service time",
        };
        wording.push(match within.best {
            Some(best) => format!(
                "p99 ≤ {limit} ({kind}, upper end of the CI): up to {}, at {}.",
                per_second(curve, best.rate),
                level(curve, curve.key, best.level)
            ),
            None if within.unjudged > 0 => String::new(),
            None => format!("No point has p99 ≤ {limit} ({kind}, upper end of the CI)."),
        });
        if within.unjudged > 0 {
            wording.push(unjudged_words(sweep, curve, within.unjudged, &limit));
        }
        wording.retain(|words| !words.is_empty());
    }
    if let Some(knee) = &curve.found.knee {
        wording.push(knee_words(curve, knee));
    }
    let is_load = matches!(curve.key, SweepKey::Depth | SweepKey::Threads | SweepKey::Rate);
    let runs = |point: &SweepPoint| point.rate.map(|rate| rate.runs);
    let single = curve.points.iter().filter(|point| runs(point) == Some(1)).count();
    let measured = curve.points.iter().filter(|point| runs(point).is_some()).count();
    if is_load && curve.found.knee.is_none() && measured >= 3 && single > 0 {
        wording.push(format!(
            "No claim about a knee: {single} of {measured} points have only one usable run. Repeat them: {}.",
            more_repeats(sweep)
        ));
    }
    if let Some(saturation) = &curve.found.saturation {
        wording.push(saturation_words(curve, saturation));
    }
    if curve.key == SweepKey::Size && curve.points.iter().filter(|point| point.rate.is_some()).count() > 1 {
        wording.push(match &curve.found.edge {
            Some(edge) => edge_words(edge, sweep.memory_bytes),
            None => format!(
                "No cache edge between these sizes; memory for caching is {}.",
                format::bytes_iec(sweep.memory_bytes as f64)
            ),
        });
    }
    let missing = curve.points.iter().filter(|point| point.rate.is_none()).count();
    if missing > 0 {
        wording
            .push(format!("{missing} of {} points have no accepted run and are not in the curve.", curve.points.len()));
    }
    wording
}

/// Describes points that cannot be judged against a limit of the p99, and how to change that.
fn unjudged_words(sweep: &Sweep, curve: &SweepCurve, unjudged: u32, limit: &str) -> String {
    let waited = |point: &SweepPoint| point.response.as_ref().unwrap_or(&point.service).p99;
    let too_few = curve.points.iter().any(|point| point.rate.is_some() && waited(point).is_none());
    let (why, remedy) = match too_few {
        true => ("their runs are too short for a p99", format!("run longer: {}", time_of_a_p99(curve))),
        false => ("one run per point gives p99 no interval", format!("repeat them: {}", more_repeats(sweep))),
    };
    let points = curve.points.iter().filter(|point| point.rate.is_some()).count();
    format!("{unjudged} of {points} points cannot be judged against p99 ≤ {limit}: {why}; {remedy}.")
}

/// Returns the time in which the slowest point completes the ops that a p99 needs, plus a fifth for variation.
fn time_of_a_p99(curve: &SweepCurve) -> String {
    const OPS: f64 = MIN_SAMPLES_BEYOND as f64 * 100.0;
    let slowest =
        curve.points.iter().filter_map(|point| point.rate).map(|rate| rate.value).fold(f64::INFINITY, f64::min);
    let seconds = (1.2 * OPS / slowest).ceil().max(1.0);
    format!("`--time {seconds:.0}s`")
}

/// Returns the options with which each point has three runs.
fn more_repeats(sweep: &Sweep) -> String {
    const REPEATS: u32 = 3;
    if sweep.repeats < REPEATS {
        return format!("`--repeat {REPEATS}`");
    }
    // Enough repeats were requested, but the budget ended them. Files and pauses take as much time again.
    let points: usize = sweep.curves.iter().map(|curve| curve.points.len()).sum();
    let time_ns = sweep.time_ns.unwrap_or(1_000_000_000).saturating_mul(2);
    let all_ns = time_ns.saturating_mul(points as u64).saturating_mul(u64::from(sweep.repeats));
    format!("`--budget {}`", budget_text(all_ns))
}

/// Formats a rate of ops; ops that move bytes are IOPS.
pub(super) fn per_second(curve: &SweepCurve, rate: f64) -> String {
    let text = format::per_second(rate);
    match text.strip_suffix("/s").filter(|_| curve.points.iter().any(|point| super::shown(point).bandwidth.is_some())) {
        Some(number) => format!("{} IOPS", number.trim_end()),
        None => text,
    }
}

pub(super) fn level(curve: &SweepCurve, key: SweepKey, level: f64) -> String {
    match key {
        SweepKey::Rate => format!("a rate of {}", per_second(curve, level)),
        SweepKey::Read => format!("{} reads", key.text(level)),
        key => format!("{} {}", key.name(), key.text(level)),
    }
}

/// Formats a level without the name of its key.
pub(super) fn bare(curve: &SweepCurve, key: SweepKey, level: f64) -> String {
    match key {
        SweepKey::Rate => per_second(curve, level),
        key => key.text(level),
    }
}

pub(super) fn knee_words(curve: &SweepCurve, knee: &Knee) -> String {
    let key = curve.key;
    let at = level(curve, key, knee.level);
    let latency = match curve.arrivals {
        Arrivals::Poisson => "mean response",
        Arrivals::Closed => "mean service",
    };
    let numbers = format!("{} at a {latency} time of {}", per_second(curve, knee.rate), format::time(knee.latency_ns));
    let anywhere = format!("anywhere from {} to {}", bare(curve, key, knee.from), bare(curve, key, knee.to));
    match knee.found() {
        KneeFound::Unlocated => {
            format!(
                "No knee found with confidence: it may be {anywhere}, or beyond; the best level is {at} ({numbers})."
            )
        }
        KneeFound::AtOrBelow => {
            format!("The knee is at or below {at}: from there on latency grows faster than the rate ({numbers}).")
        }
        KneeFound::NotReached => {
            format!("No knee up to {at}: latency still grows more slowly than the rate ({numbers}).")
        }
        KneeFound::Located if knee.from < knee.to => {
            format!("The knee is at {at} ({numbers}); given the spread, {anywhere}.")
        }
        KneeFound::Located => {
            format!("The knee is at {at} ({numbers}): beyond it latency grows faster than the rate.")
        }
    }
}

pub(super) fn saturation_words(curve: &SweepCurve, saturation: &Saturation) -> String {
    let key = curve.key;
    let Saturation { level: proven, perhaps, to, beyond, rate_max, level_max, place, rise } = *saturation;
    let most = per_second(curve, rate_max);
    match (place, rise) {
        (LevelPlace::Last, Rise::Proven) => {
            return format!("Not saturated: the rate still rises at {}, to {most}.", level(curve, key, level_max));
        }
        (LevelPlace::Last, Rise::Unproven) => {
            return format!(
                "The mean rate is highest at {}, with {most}, but not distinguishable from the level before: saturation is \
                 neither shown nor excluded.",
                level(curve, key, level_max)
            );
        }
        (LevelPlace::First | LevelPlace::Inside, _) => {}
    }
    let Some(beyond) = beyond else {
        let head =
            format!("Saturated from {} on, within 5 % of the largest rate of {most}", level(curve, key, perhaps));
        let certain = format!("; certain from {} on", bare(curve, key, proven));
        return format!("{head}{}.", if perhaps < proven { &certain } else { "" });
    };
    // The rate falls again at higher levels, so "saturated from here on" would be wrong.
    let to = to.unwrap_or(level_max);
    let near = match perhaps < to {
        true => format!(", within 5 % of it from {} to {}", bare(curve, key, perhaps), bare(curve, key, to)),
        false => String::new(),
    };
    let fall = if beyond.proven { "and falls beyond" } else { "and lower beyond, though not more than by chance" };
    format!(
        "The rate is largest at {}, {most}{near}, {fall}: {} at {}.",
        level(curve, key, level_max),
        per_second(curve, beyond.rate),
        bare(curve, key, beyond.level)
    )
}

fn edge_words(edge: &CacheEdge, memory_bytes: u64) -> String {
    let tier = |tier: Option<TierName>| tier.map_or("unknown", TierName::name);
    let size = |bytes: f64| SweepKey::Size.text(bytes);
    let proven = edge.ratio.hi.is_some_and(|hi| hi < 1.0);
    let proof = if proven { "" } else { " (the tier shows it; the rates alone do not)" };
    let b6 = match edge.b6 {
        Agreement::Agrees => " Check B6 confirms it.",
        Agreement::Differs => " Check B6 does not: this may be another cache than memory.",
        Agreement::NotAsked => "",
    };
    format!(
        "The cache ends between {} and {}: the rate falls to {} of what it was{proof} ({} before, {} after); memory for \
         caching is {}.{b6}",
        size(edge.below_bytes),
        size(edge.above_bytes),
        format::percent(edge.ratio.value),
        tier(edge.tier_before),
        tier(edge.tier_after),
        format::bytes_iec(memory_bytes as f64),
    )
}
