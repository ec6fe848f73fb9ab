#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| skewguard_admin::fuzzing::policy(data));
