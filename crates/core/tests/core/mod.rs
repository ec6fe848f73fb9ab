//! The core through its public interface: versions, policies, the decision.

mod families;
mod known_issues;
mod machine_rules;
mod policy_choose;
mod policy_parse;
mod samples;
mod update_issues;
mod verdict_rules;
mod verdict_table;
mod version;
