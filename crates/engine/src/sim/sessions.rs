//! The speed of a simulated device in each of its sessions.

use super::noise::{normal, rounded, sigma};
use crate::math::{exp, ln};
use crate::rng::{Purpose, StreamId};
use plumb_workload::SimSessions;

/// Stream number of the sessions among the streams of a device.
const PLACE: u32 = 5;

/// Returns the speed factor of session `session`, counted from 0. A session that depends on earlier ones draws all of
/// them again, so that each can be computed alone. `number` distinguishes the devices of a run.
pub(super) fn speed(sessions: &SimSessions, seed: u64, number: u32, session: u32) -> f64 {
    if *sessions == SimSessions::CALM {
        return 1.0;
    }
    let (spread, step) = (sigma(sessions.spread), sigma(sessions.walk));
    let fresh = (1.0 - sessions.memory * sessions.memory).max(0.0).sqrt();
    let (mut state, mut walked, mut is_slower) = (0.0, 0.0, false);
    let mut is_slow = false;
    for index in 0..=session {
        let mut stream = StreamId { seed, phase: index, worker: number << 8 | PLACE }.rng(Purpose::Device);
        // Make all draws in each session, so that one fault does not shift the draws of another.
        let draw = normal(&mut stream);
        let squares: f64 = (0..3).map(|_| normal(&mut stream).powi(2)).sum();
        let (step_drawn, slow_drawn, level_drawn, switch_drawn) =
            (normal(&mut stream), stream.unit(), stream.unit(), stream.unit());
        // t with 3 degrees of freedom has a variance of 3.
        let draw = if sessions.tails { draw / squares.sqrt() } else { draw };
        state = if index == 0 { draw } else { sessions.memory * state + fresh * draw };
        walked += step * step_drawn;
        is_slow = slow_drawn < sessions.slow;
        is_slower = if index == 0 { level_drawn < 0.5 } else { is_slower };
        is_slower ^= switch_drawn < sessions.switch;
    }
    let slow = if is_slow { ln(1.0 + sessions.slow_by) } else { 0.0 };
    let level = if is_slower && sessions.switch > 0.0 { ln(1.0 + sessions.switch_by) } else { 0.0 };
    let drift = f64::from(session) * ln(1.0 + sessions.drift);
    rounded(exp(spread * state + walked - slow - level - drift))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn logs(device: &str, count: u32) -> Vec<f64> {
        let device: plumb_workload::SimDevice = device.parse().unwrap();
        (0..count).map(|session| speed(&device.sessions, 7, 0, session).ln()).collect()
    }

    fn mean(values: &[f64]) -> f64 {
        values.iter().sum::<f64>() / values.len() as f64
    }

    fn spread(values: &[f64]) -> f64 {
        let mean = mean(values);
        (values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len() as f64).sqrt()
    }

    fn neighbours(values: &[f64]) -> f64 {
        let middle = mean(values);
        let products = values.windows(2).map(|pair| (pair[0] - middle) * (pair[1] - middle)).sum::<f64>();
        products / (values.len() as f64 * spread(values).powi(2))
    }

    #[test]
    fn a_device_without_session_faults_is_constant() {
        assert!(logs("sim:ssd?cv=3%&plot=5%", 5).iter().all(|&log| log == 0.0));
    }

    #[test]
    fn sessions_vary_as_configured() {
        let independent = logs("sim:ssd?session=3%", 1500);
        assert!((spread(&independent) - 0.03).abs() < 0.002 && neighbours(&independent).abs() < 0.1);
        let remembered = logs("sim:ssd?session=3%&session-memory=80%", 1500);
        assert!((spread(&remembered) - 0.03).abs() < 0.004 && (neighbours(&remembered) - 0.8).abs() < 0.08);
        let tails = logs("sim:ssd?session=3%&session-tails", 1500);
        // 4.3 standard deviations: one of 60,000 normal draws, and one of 200 with heavy tails.
        let far = |values: &[f64]| values.iter().filter(|value| value.abs() > 0.13).count();
        assert!(far(&tails) > 3 && far(&independent) == 0, "{} {}", far(&tails), far(&independent));
    }

    #[test]
    fn slow_sessions_have_the_configured_frequency_and_speed() {
        let slow = logs("sim:ssd?session-slow=20%&session-slow-by=11%", 1500);
        let share = slow.iter().filter(|&&log| log < -0.05).count() as f64 / 1500.0;
        assert!((share - 0.2).abs() < 0.04, "{share}");
        assert!(slow.iter().all(|&log| log == 0.0 || (log + 1.11f64.ln()).abs() < 1e-6));
    }

    #[test]
    fn levels_hold_for_the_configured_time() {
        let levels = logs("sim:ssd?session-switch=10%", 1500);
        let switches = levels.windows(2).filter(|pair| pair[0] != pair[1]).count() as f64 / 1499.0;
        assert!((switches - 0.1).abs() < 0.03, "{switches}");
        assert!((mean(&levels) + 0.5 * 1.1f64.ln()).abs() < 0.02);
    }

    #[test]
    fn drifting_and_wandering_sessions_move() {
        let drift = logs("sim:ssd?session-drift=0.5%", 31);
        assert!((drift[30] + 30.0 * 1.005f64.ln()).abs() < 1e-6);
        let walk = logs("sim:ssd?session-walk=1.5%", 1500);
        let steps: Vec<f64> = walk.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!((spread(&steps) - 0.015).abs() < 0.001 && neighbours(&steps).abs() < 0.1);
    }
}
