//! The objects of a cluster, and what is kept of each kind (pure).

pub mod certificate;
pub mod fields;
pub mod ignition_specs;
pub mod image;
pub mod infrastructure;
pub mod karpenter;
pub mod kind_table;
pub mod listener;
pub mod machines;
pub mod nodes;
pub mod objects;
pub mod others;
pub mod owner;
pub mod platforms;
pub mod request_name;
pub mod settings;
pub mod site;
pub mod stream;
pub mod target;
pub mod unfit;
pub mod user_data;
