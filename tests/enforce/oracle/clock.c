/* A node's clock that is off by SKEWGUARD_TEST_CLOCK seconds (LD_PRELOAD). */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

int clock_gettime(clockid_t clock, struct timespec *now)
{
    const char *off = getenv("SKEWGUARD_TEST_CLOCK");
    int failed = syscall(SYS_clock_gettime, clock, now);
    if (off && clock == CLOCK_REALTIME)
        now->tv_sec += atol(off);
    return failed;
}
