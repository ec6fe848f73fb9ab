//! System calls that only Linux has. On other systems they fail and say so: there the crate
//! compiles, for what admins do at their desks, but no node runs it.

#[cfg(not(target_os = "linux"))]
pub(crate) use elsewhere::*;
#[cfg(target_os = "linux")]
pub(crate) use nix::{
    fcntl::{OpenHow, ResolveFlag, openat2},
    sys::{
        memfd::{MFdFlags, memfd_create},
        prctl::set_pdeathsig,
        wait::{Id, waitid},
    },
};

/// Flag of open(2) for what is only looked at: opening a device for that has no effects.
#[cfg(target_os = "linux")]
pub(crate) const LOOK: nix::fcntl::OFlag = nix::fcntl::OFlag::O_PATH;

#[cfg(not(target_os = "linux"))]
#[allow(dead_code, missing_docs)]
mod elsewhere {
    use nix::Result;
    use nix::errno::Errno;
    use nix::fcntl::OFlag;
    use nix::sys::signal::Signal;
    use nix::sys::wait::{WaitPidFlag, WaitStatus};
    use nix::unistd::Pid;
    use std::os::fd::OwnedFd;

    pub(crate) const LOOK: OFlag = OFlag::O_NONBLOCK;

    pub(crate) struct OpenHow;

    impl OpenHow {
        pub(crate) fn new() -> Self {
            Self
        }

        pub(crate) fn flags(self, _: OFlag) -> Self {
            self
        }

        pub(crate) fn resolve(self, _: u8) -> Self {
            self
        }
    }

    #[allow(non_snake_case)]
    pub(crate) mod ResolveFlag {
        pub(crate) const RESOLVE_IN_ROOT: u8 = 1;
        pub(crate) const RESOLVE_NO_MAGICLINKS: u8 = 2;
    }

    pub(crate) fn openat2<D, P: ?Sized>(_: D, _: &P, _: OpenHow) -> Result<OwnedFd> {
        Err(Errno::ENOSYS)
    }

    pub(crate) struct MFdFlags;

    impl MFdFlags {
        pub(crate) fn empty() -> Self {
            Self
        }
    }

    pub(crate) fn memfd_create(_: &str, _: MFdFlags) -> Result<OwnedFd> {
        Err(Errno::ENOSYS)
    }

    pub(crate) enum Id {
        Pid(Pid),
    }

    pub(crate) fn waitid(_: Id, _: WaitPidFlag) -> Result<WaitStatus> {
        Err(Errno::ENOSYS)
    }

    pub(crate) fn set_pdeathsig(_: Signal) -> Result<()> {
        Err(Errno::ENOSYS)
    }
}
