//! The simulated device on its virtual clock.
