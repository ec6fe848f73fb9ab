//! Stand-ins for the unwinder, in the binaries that ship.
//!
//! A panic aborts there, and the unwind tables are left out (`dist/build`), so nothing can ever be unwound and a backtrace has no frames. The
//! standard library links an unwinder and a symboliser for backtraces all the same: 133 KB of `gzip -9`, a third of the embed build. With
//! these the link-time optimisation sees that both are dead. The panic's own message, with file and line, is printed as always.

#![expect(unsafe_code, reason = "the names are the unwinder's; no code in here does anything unsafe")]

/// `_URC_END_OF_STACK` of the Itanium C++ ABI for exceptions: there are no frames.
const END_OF_STACK: u32 = 5;

#[unsafe(no_mangle)]
extern "C" fn _Unwind_Backtrace(_each_frame: usize, _argument: usize) -> u32 {
    END_OF_STACK
}

/// What only an unwinder in progress would call.
macro_rules! never_called {
    ($($name:ident)*) => {
        $(#[unsafe(no_mangle)]
        extern "C" fn $name() {
            std::process::abort();
        })*
    };
}

never_called! {
    _Unwind_GetDataRelBase _Unwind_GetIP _Unwind_GetIPInfo _Unwind_GetLanguageSpecificData _Unwind_GetRegionStart _Unwind_GetTextRelBase
    _Unwind_Resume _Unwind_SetGR _Unwind_SetIP
}
