//! Objects as `why` keeps them, beside the audit (pure).

pub mod facts;
pub mod kinds;
pub mod listen;
pub mod records;
pub mod user_data;
