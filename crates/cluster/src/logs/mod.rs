//! Logs of the machine-config-server, the machine-approver and HyperShift's ignition servers (pure but
//! for the readers that they are given).

pub mod approver_line;
pub mod ignition_server;
pub mod log_file;
pub mod log_lines;
mod matching;
pub mod read;
mod reading;
pub mod server_line;
pub mod server_log;
