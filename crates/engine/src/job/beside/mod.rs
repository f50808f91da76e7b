//! What runs beside jobs: processor time, and other programs.
