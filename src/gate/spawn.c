// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// One loop per child: read what it writes, look at its memory, watch the clock, and notice its end. The child's own
// exit is seen with WNOWAIT first, so that its process group keeps its number until everything left in it is killed.
#include "gate/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/clock.h"
#include "core/error.h"
#include "core/file.h"
#include "core/mem.h"
#include "gate/process_group.h"

extern char **environ;

#define GRACE_SECONDS 2.0   // from SIGTERM to SIGKILL
#define KILL_SECONDS 30.0   // a killed process that stays longer hangs in the kernel
#define SAMPLE_SECONDS 0.1  // between two looks at the memory
#define DRAIN_SECONDS 1.0   // for what is still in the pipes when the child is gone

// What one run holds; released in any case.
struct child {
    const struct lat_spawn_options *options;
    struct lat_spawn_result *result;
    pid_t pid;
    int input;               // memory file for stdin, or -1
    int read_ends[2];        // of stdout and stderr, or -1
    int write_ends[2];
    int signals;             // tells of SIGINT, SIGTERM, SIGHUP to us while they are blocked; or -1
    sigset_t mask_before;
    char **environment;
    double start, deadline, term_at, kill_at, sample_at;
    uint64_t rss_self;       // our own peak: the kernel counts it into the child's
    bool ended, reaped, interrupted, masked;
    siginfo_t end;
};

static void close_fd(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static void child_release(struct child *c)
{
    close_fd(&c->input);
    close_fd(&c->signals);
    for (int i = 0; i < 2; i++) {
        close_fd(&c->read_ends[i]);
        close_fd(&c->write_ends[i]);
    }
    lat_mem_free(c->environment);
    // Last: a signal that came meanwhile is delivered here, with nothing left to lose.
    if (c->masked)
        pthread_sigmask(SIG_SETMASK, &c->mask_before, NULL);
}

static const char *path_variable(const char *const *changes)
{
    for (; changes && *changes; changes++)
        if (strncmp(*changes, "PATH=", 5) == 0)
            return *changes + 5;
    return getenv("PATH");
}

static bool is_program(const char *path)
{
    struct stat st;
    return stat(path, &st) == 0 && S_ISREG(st.st_mode) && access(path, X_OK) == 0;
}

static bool find_in(const char *search, const char *program, char *path, size_t size)
{
    for (const char *at = search ? search : "/usr/bin:/bin"; *at;) {
        size_t length = strcspn(at, ":");
        // Folders that depend on where we stand are passed over: a checkout must not bring its own git.
        if (length > 0 && *at == '/') {
            int n = snprintf(path, size, "%.*s/%s", (int)length, at, program);
            if (n > 0 && (size_t)n < size && is_program(path))
                return true;
        }
        at += length + (at[length] == ':');
    }
    return false;
}

bool lat_spawn_find(const char *program, char *path, size_t size)
{
    if (!strchr(program, '/'))
        return *program && find_in(getenv("PATH"), program, path, size);
    size_t length = strlen(program);
    if (length >= size || !is_program(program))
        return false;
    memcpy(path, program, length + 1);
    return true;
}

static bool same_name(const char *entry, const char *change)
{
    size_t length = strcspn(change, "=");
    return strncmp(entry, change, length) == 0 && entry[length] == '=';
}

static size_t count_texts(const char *const *texts)
{
    size_t n = 0;
    while (texts && texts[n])
        n++;
    return n;
}

// Our environment without the names that are changed, then the new values.
static enum lat_status make_environment(struct child *c, struct lat_error *error)
{
    const char *const *changes = c->options->environment;
    size_t used = 0, change_count = count_texts(changes);
    c->environment = lat_mem_new(count_texts((const char *const *)environ) + change_count + 1, sizeof(char *));
    if (!c->environment)
        return lat_error_memory(error, "an environment");
    for (char **entry = environ; entry && *entry; entry++) {
        bool changed = false;
        for (size_t i = 0; i < change_count && !changed; i++)
            changed = same_name(*entry, changes[i]);
        if (!changed)
            c->environment[used++] = *entry;
    }
    for (size_t i = 0; i < change_count; i++)
        if (strchr(changes[i], '='))
            c->environment[used++] = (char *)(uintptr_t)changes[i]; // posix_spawn does not write there
    return LAT_OK;
}

// A file in memory rather than a pipe: the child reads at its own pace, and we need not write while it does.
static enum lat_status make_input(struct child *c, struct lat_error *error)
{
    const char *at = c->options->input;
    size_t left = c->options->input_length;
    c->input = memfd_create("input", MFD_CLOEXEC);
    if (c->input < 0)
        return lat_error_errno(error, errno, "create", "input of a child");
    while (left > 0) {
        ssize_t n = write(c->input, at, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return lat_error_errno(error, n < 0 ? errno : ENOSPC, "write", "input of a child");
        at += n;
        left -= (size_t)n;
    }
    if (lseek(c->input, 0, SEEK_SET) != 0)
        return lat_error_errno(error, errno, "rewind", "input of a child");
    return LAT_OK;
}

static enum lat_status make_pipe(struct child *c, int which, struct lat_error *error)
{
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0)
        return lat_error_errno(error, errno, "create", "a pipe");
    c->read_ends[which] = ends[0];
    c->write_ends[which] = ends[1];
    if (fcntl(ends[0], F_SETFL, O_NONBLOCK) != 0)
        return lat_error_errno(error, errno, "set up", "a pipe");
    return LAT_OK;
}

// The child stands in another process group than we, so that Ctrl-C does not reach it: while it runs we hold such
// signals back, end the group when one comes, and let it take its course after that.
static enum lat_status hold_signals(struct child *c, struct lat_error *error)
{
    static const int stops[] = { SIGINT, SIGTERM, SIGHUP };
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof stops / sizeof stops[0]; i++) {
        struct sigaction action;
        if (sigaction(stops[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&set, stops[i]);
    }
    int failed = pthread_sigmask(SIG_BLOCK, &set, &c->mask_before);
    if (failed)
        return lat_error_errno(error, failed, "block", "signals");
    c->masked = true;
    c->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    return c->signals >= 0 ? LAT_OK : lat_error_errno(error, errno, "watch", "signals");
}

static int add_actions(const struct child *c, posix_spawn_file_actions_t *actions)
{
    int e = c->input >= 0 ? posix_spawn_file_actions_adddup2(actions, c->input, 0)
                          : posix_spawn_file_actions_addopen(actions, 0, "/dev/null", O_RDONLY, 0);
    if (!e)
        e = posix_spawn_file_actions_adddup2(actions, c->write_ends[0], 1);
    if (!e)
        e = posix_spawn_file_actions_adddup2(actions, c->write_ends[c->options->merge ? 0 : 1], 2);
    // Ours are close-on-exec; what we inherited ourselves may not be.
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 34)
    if (!e)
        e = posix_spawn_file_actions_addclosefrom_np(actions, 3);
#endif
    if (!e && c->options->directory)
        e = posix_spawn_file_actions_addchdir_np(actions, c->options->directory);
    return e;
}

static int set_attributes(const struct child *c, posix_spawnattr_t *attributes)
{
    sigset_t defaults;
    sigemptyset(&defaults);
    const int reset[] = { SIGPIPE, SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGCHLD, SIGUSR1, SIGUSR2, SIGALRM };
    for (size_t i = 0; i < sizeof reset / sizeof reset[0]; i++)
        sigaddset(&defaults, reset[i]);
    int e = posix_spawnattr_setflags(attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
    if (!e)
        e = posix_spawnattr_setpgroup(attributes, 0);
    if (!e)
        e = posix_spawnattr_setsigdefault(attributes, &defaults);
    if (!e)
        e = posix_spawnattr_setsigmask(attributes, &c->mask_before);
    return e;
}

static int spawn_program(struct child *c, const char *path)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    int e = posix_spawn_file_actions_init(&actions);
    if (e)
        return e;
    e = posix_spawnattr_init(&attributes);
    if (!e) {
        e = add_actions(c, &actions);
        if (!e)
            e = set_attributes(c, &attributes);
        if (!e) // it does not write to the texts
            e = posix_spawn(&c->pid, path, &actions, &attributes, (char *const *)(uintptr_t)c->options->argv, c->environment);
        posix_spawnattr_destroy(&attributes);
    }
    posix_spawn_file_actions_destroy(&actions);
    return e;
}

static enum lat_status start(struct child *c, struct lat_error *error)
{
    const char *program = c->options->argv[0];
    char path[4096];
    if (c->options->directory && !lat_file_is_folder(c->options->directory))
        return lat_error_set(error, LAT_NOT_FOUND, "%.200s: no such folder to run '%.80s' in", c->options->directory, program);
    // A name with a slash counts from where the child runs.
    if (strchr(program, '/')) {
        if (snprintf(path, sizeof path, "%s", program) >= (int)sizeof path)
            return lat_error_set(error, LAT_NOT_FOUND, "%.80s...: the name of a program is too long", program);
    } else if (!*program || !find_in(path_variable(c->options->environment), program, path, sizeof path))
        return lat_error_set(error, LAT_NOT_FOUND, "%.200s: no such program in PATH", program);
    int e = spawn_program(c, path);
    if (e == ENOENT || e == ENOTDIR)
        return lat_error_set(error, LAT_NOT_FOUND, "%.200s: no such program, or its interpreter is missing", path);
    if (e == ENOEXEC)
        return lat_error_set(error, LAT_FORMAT, "%.200s: not a program (no ELF header, no #! line)", path);
    return e ? lat_error_errno(error, e, "run", path) : LAT_OK;
}

// Reads what is there. At the end of the file, or when reading fails, the descriptor is closed.
static void read_some(struct child *c, int which)
{
    char bytes[65536];
    struct lat_buf *to = which == 0 ? &c->result->out : &c->result->err;
    bool *cut = which == 0 ? &c->result->out_cut : &c->result->err_cut;
    ssize_t n = read(c->read_ends[which], bytes, sizeof bytes);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n <= 0) {
        close_fd(&c->read_ends[which]);
        return;
    }
    size_t room = to->bytes_max - to->length, take = (size_t)n < room ? (size_t)n : room;
    *cut = *cut || take < (size_t)n;
    lat_buf_add(to, bytes, take);
}

// Waits at most `seconds` for output or a signal to us; reads what came. False: nothing came.
static bool wait_and_read(struct child *c, double seconds)
{
    struct pollfd fds[3] = { { .fd = c->read_ends[0], .events = POLLIN },
                             { .fd = c->read_ends[1], .events = POLLIN },
                             { .fd = c->interrupted ? -1 : c->signals, .events = POLLIN } };
    int ready = poll(fds, 3, seconds > 0 ? (int)(seconds * 1000 + 0.999) : 0);
    if (ready <= 0)
        return false;
    c->interrupted = c->interrupted || fds[2].revents;
    for (int i = 0; i < 2; i++)
        if (fds[i].revents)
            read_some(c, i);
    return fds[0].revents || fds[1].revents;
}

static void note_rss(struct child *c, uint64_t rss)
{
    struct lat_spawn_result *r = c->result;
    if (rss > r->rss_peak)
        r->rss_peak = rss;
    if (c->options->rss_max && rss > c->options->rss_max)
        r->over_memory = true;
}

// Ends the group in two steps as its reasons and the time demand.
static void enforce_limits(struct child *c, double now)
{
    struct lat_spawn_result *r = c->result;
    if (now >= c->deadline && !c->term_at)
        r->timed_out = true;
    if (!c->term_at && (r->timed_out || r->over_memory || c->interrupted)) {
        c->term_at = now;
        kill(-c->pid, SIGTERM);
        kill(-c->pid, SIGCONT); // a stopped process would not hear it
    }
    // Memory does not wait for manners.
    double grace = r->over_memory ? 0 : GRACE_SECONDS;
    if (c->term_at && !c->kill_at && now >= c->term_at + grace) {
        c->kill_at = now;
        kill(-c->pid, SIGKILL);
    }
}

static bool has_ended(struct child *c)
{
    c->end.si_pid = 0;
    while (waitid(P_PID, (id_t)c->pid, &c->end, WEXITED | WNOHANG | WNOWAIT) != 0)
        if (errno != EINTR)
            return true; // no such child: reap() reports it
    c->ended = c->end.si_pid == c->pid;
    return c->ended;
}

static enum lat_status watch(struct child *c, struct lat_error *error)
{
    double pause = 0.001; // grows: a short child is noticed soon, a long one costs nothing
    while (!has_ended(c)) {
        double now = lat_clock_seconds();
        if (now >= c->sample_at) {
            note_rss(c, lat_process_group_rss(c->pid));
            c->sample_at = now + (now - c->start < SAMPLE_SECONDS ? 0.02 : SAMPLE_SECONDS);
        }
        enforce_limits(c, now);
        if (c->kill_at && now > c->kill_at + KILL_SECONDS)
            return lat_error_set(error, LAT_IO, "%.200s: killed, but the system does not let it end", c->options->argv[0]);
        if (!wait_and_read(c, pause))
            pause = pause * 2 < 0.05 ? pause * 2 : 0.05;
    }
    return LAT_OK;
}

// Reaps the child after what remains of its group is gone, then reads the rest of its output.
static enum lat_status finish(struct child *c, struct lat_error *error)
{
    struct lat_spawn_result *r = c->result;
    struct rusage usage = { 0 };
    int status = 0;
    kill(-c->pid, SIGKILL);
    pid_t pid = 0;
    while ((pid = wait4(c->pid, &status, 0, &usage)) < 0 && errno == EINTR)
        continue;
    c->reaped = true;
    r->seconds = lat_clock_seconds() - c->start;
    if (pid != c->pid)
        return lat_error_set(error, LAT_IO, "%.200s: its end was taken by someone else", c->options->argv[0]);
    r->exited = WIFEXITED(status);
    r->code = r->exited ? WEXITSTATUS(status) : 0;
    r->signal = r->exited ? 0 : WTERMSIG(status);
    // Between vfork and exec a child counts our memory as its own; a larger value is truly the child's.
    uint64_t peak = (uint64_t)usage.ru_maxrss * 1024;
    if (peak > c->rss_self)
        note_rss(c, peak);
    // Someone who left the group may hold a pipe open for ever; what was written before the end is there already.
    double until = lat_clock_seconds() + DRAIN_SECONDS;
    while ((c->read_ends[0] >= 0 || c->read_ends[1] >= 0) && wait_and_read(c, 0.01) && lat_clock_seconds() < until)
        continue;
    lat_buf_add(&r->out, "", 0); // so that even no output is a text
    lat_buf_add(&r->err, "", 0);
    if (c->interrupted)
        return lat_error_set(error, LAT_CANCELLED, "%.200s: ended, because the gate was told to stop", c->options->argv[0]);
    if (r->out.failed || r->err.failed)
        return lat_error_memory(error, "the output of a child");
    return LAT_OK;
}

static enum lat_status prepare(struct child *c, struct lat_error *error)
{
    LAT_TRY(make_environment(c, error));
    if (c->options->input)
        LAT_TRY(make_input(c, error));
    LAT_TRY(make_pipe(c, 0, error));
    if (!c->options->merge)
        LAT_TRY(make_pipe(c, 1, error));
    return hold_signals(c, error);
}

static enum lat_status run(struct child *c, struct lat_error *error)
{
    LAT_TRY(prepare(c, error));
    c->start = lat_clock_seconds();
    c->sample_at = c->start + SAMPLE_SECONDS / 5; // most children are gone by then
    c->deadline = c->start + (c->options->seconds_max > 0 ? c->options->seconds_max : 3600);
    LAT_TRY(start(c, error));
    close_fd(&c->write_ends[0]);
    close_fd(&c->write_ends[1]);
    LAT_TRY(watch(c, error));
    return finish(c, error);
}

enum lat_status lat_spawn_run(struct lat_spawn_result *result, const struct lat_spawn_options *options, struct lat_error *error)
{
    struct child c = { .options = options, .result = result, .input = -1, .read_ends = { -1, -1 }, .write_ends = { -1, -1 },
                       .signals = -1 };
    struct rusage self = { 0 };
    *result = (struct lat_spawn_result){ 0 };
    size_t output_max = options->output_max ? options->output_max : 8u << 20;
    lat_buf_init(&result->out, output_max);
    lat_buf_init(&result->err, output_max);
    if (getrusage(RUSAGE_SELF, &self) == 0)
        c.rss_self = (uint64_t)self.ru_maxrss * 1024;
    enum lat_status status = run(&c, error);
    child_release(&c);
    if (status != LAT_OK)
        lat_spawn_result_release(result);
    return status;
}

void lat_spawn_result_release(struct lat_spawn_result *result)
{
    lat_buf_release(&result->out);
    lat_buf_release(&result->err);
    *result = (struct lat_spawn_result){ 0 };
}

bool lat_spawn_ok(const struct lat_spawn_result *result)
{
    return result->exited && result->code == 0 && !result->timed_out && !result->over_memory;
}
