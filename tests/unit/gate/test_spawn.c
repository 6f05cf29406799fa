// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// Children that behave badly. The shell here plays the child; the code under test starts none.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "core/clock.h"
#include "core/file.h"
#include "gate/spawn.h"

static struct lat_spawn_result result;
static struct lat_error error;

static enum lat_status sh(const char *script, struct lat_spawn_options o)
{
    const char *argv[] = { "sh", "-c", script, NULL };
    o.argv = argv;
    return lat_spawn_run(&result, &o, &error);
}

#define RUNS(script, ...) assert_int_equal(sh(script, (struct lat_spawn_options){ __VA_ARGS__ }), LAT_OK)

static void output_and_status(void **state)
{
    (void)state;
    RUNS("echo out; echo err >&2; exit 3", .seconds_max = 20);
    assert_true(result.exited);
    assert_int_equal(result.code, 3);
    assert_false(lat_spawn_ok(&result));
    assert_string_equal(result.out.bytes, "out\n");
    assert_string_equal(result.err.bytes, "err\n");
    lat_spawn_result_release(&result);
    RUNS("echo a; echo b >&2; echo c", .seconds_max = 20, .merge = true);
    assert_true(lat_spawn_ok(&result));
    assert_string_equal(result.out.bytes, "a\nb\nc\n");
    assert_int_equal(result.err.length, 0);
    lat_spawn_result_release(&result);
    RUNS("true", .seconds_max = 20);
    assert_string_equal(result.out.bytes, ""); // a text even when there is none
    lat_spawn_result_release(&result);
    RUNS("kill -SEGV $$", .seconds_max = 20);
    assert_false(result.exited);
    assert_int_equal(result.signal, SIGSEGV);
    assert_false(lat_spawn_ok(&result));
    lat_spawn_result_release(&result);
    RUNS("exit 127", .seconds_max = 20);
    assert_int_equal(result.code, 127);
    lat_spawn_result_release(&result);
}

static void arguments_are_not_words_of_a_shell(void **state)
{
    const char *argv[] = { "printf", "%s|", "a b", "$(exit 1)", "`x`", "; rm", "*", "", NULL };
    (void)state;
    assert_int_equal(lat_spawn_run(&result, &(struct lat_spawn_options){ .argv = argv }, &error), LAT_OK);
    assert_string_equal(result.out.bytes, "a b|$(exit 1)|`x`|; rm|*||");
    lat_spawn_result_release(&result);
}

static void missing(void **state)
{
    static const char *const names[] = { "no-such-program-here", "/nonexistent/program", "./no-such", "" };
    char path[256];
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        const char *argv[] = { names[i], NULL };
        assert_int_equal(lat_spawn_run(&result, &(struct lat_spawn_options){ .argv = argv }, &error), LAT_NOT_FOUND);
        assert_non_null(strstr(error.text, "no such program"));
        assert_false(lat_spawn_find(names[i], path, sizeof path));
    }
    assert_int_equal(sh("true", (struct lat_spawn_options){ .directory = "/nonexistent" }), LAT_NOT_FOUND);
    assert_non_null(strstr(error.text, "/nonexistent: no such folder"));
    assert_true(lat_spawn_find("sh", path, sizeof path));
    assert_int_equal(path[0], '/');
    assert_true(lat_spawn_find("/bin/sh", path, sizeof path));
    assert_false(lat_spawn_find("sh", path, 3));
}

// A file that is no program must not be handed to a shell, and one without its interpreter is not "exit 127".
static void not_programs(void **state)
{
    char folder[] = "/tmp/lattice-spawn-XXXXXX", path[64];
    (void)state;
    assert_non_null(mkdtemp(folder));
    snprintf(path, sizeof path, "%s/text", folder);
    int fd = open(path, O_CREAT | O_WRONLY | O_CLOEXEC, 0755);
    assert_int_equal(write(fd, "echo hello\n", 11), 11);
    close(fd);
    const char *argv[] = { path, NULL };
    assert_int_equal(lat_spawn_run(&result, &(struct lat_spawn_options){ .argv = argv }, &error), LAT_FORMAT);
    assert_non_null(strstr(error.text, "not a program"));
    fd = open(path, O_TRUNC | O_WRONLY | O_CLOEXEC);
    assert_int_equal(write(fd, "#!/nonexistent/x\n", 17), 17);
    close(fd);
    assert_int_equal(lat_spawn_run(&result, &(struct lat_spawn_options){ .argv = argv }, &error), LAT_NOT_FOUND);
    chmod(path, 0644);
    assert_int_not_equal(lat_spawn_run(&result, &(struct lat_spawn_options){ .argv = argv }, &error), LAT_OK);
    unlink(path);
    rmdir(folder);
}

static void folder_environment_and_input(void **state)
{
    const char *changes[] = { "LATTICE_A=new", "LATTICE_B", "LATTICE_C=", NULL };
    (void)state;
    setenv("LATTICE_A", "old", 1);
    setenv("LATTICE_B", "old", 1);
    setenv("LATTICE_AB", "kept", 1);
    RUNS("pwd; echo $LATTICE_A,${LATTICE_B-gone},${LATTICE_C-gone},$LATTICE_AB; env | grep -c ^LATTICE_A=", .directory = "/",
         .environment = changes);
    assert_string_equal(result.out.bytes, "/\nnew,gone,,kept\n1\n");
    lat_spawn_result_release(&result);
    RUNS("cat | tr a-z A-Z", .input = "some\0input", .input_length = 10);
    assert_int_equal(result.out.length, 10);
    assert_memory_equal(result.out.bytes, "SOME\0INPUT", 10);
    lat_spawn_result_release(&result);
    enum { BIG = 4 << 20 }; // more than any pipe holds, while the child writes as much
    char *big = malloc(BIG);
    memset(big, 'x', BIG);
    RUNS("cat", .input = big, .input_length = BIG);
    assert_int_equal(result.out.length, BIG);
    lat_spawn_result_release(&result);
    RUNS("exec <&-; exit 0", .input = big, .input_length = BIG); // a child that does not read
    assert_true(lat_spawn_ok(&result));
    lat_spawn_result_release(&result);
    free(big);
}

static void stdin_and_descriptors_are_not_inherited(void **state)
{
    int ends[2], saved = dup(0);
    (void)state;
    assert_int_equal(pipe(ends), 0); // without close-on-exec, as if somebody had left it open
    assert_int_equal(write(ends[1], "secret\n", 7), 7);
    assert_int_equal(dup2(ends[0], 0), 0);
    RUNS("cat; ls /proc/self/fd | wc -l", .seconds_max = 20);
    assert_true(lat_spawn_ok(&result));
    assert_int_equal(strtol(result.out.bytes, NULL, 10), 4); // 0, 1, 2, and the folder that ls reads
    lat_spawn_result_release(&result);
    dup2(saved, 0);
    close(saved);
    close(ends[0]);
    close(ends[1]);
}

static void flood(void **state)
{
    (void)state;
    RUNS("head -c 30000000 /dev/zero; echo lots >&2", .output_max = 1000, .seconds_max = 60);
    assert_true(lat_spawn_ok(&result)); // drained, so the child was not stuck
    assert_int_equal(result.out.length, 1000);
    assert_true(result.out_cut);
    assert_false(result.err_cut);
    lat_spawn_result_release(&result);
    RUNS("printf 12345", .output_max = 5);
    assert_false(result.out_cut); // exactly full is not cut
    assert_string_equal(result.out.bytes, "12345");
    lat_spawn_result_release(&result);
}

// Is the process gone? A zombie that init has not taken yet counts as gone: it runs no more.
static bool is_gone(long pid)
{
    char path[64], text[512] = "";
    snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return true;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    const char *after = strrchr(text, ')');
    return !after || after[2] == 'Z' || after[2] == 'X';
}

static void await_gone(long pid)
{
    assert_true(pid > 1);
    for (int i = 0; i < 200 && !is_gone(pid); i++)
        usleep(10000);
    assert_true(is_gone(pid));
}

static void ignores_sigterm_with_a_grandchild(void **state)
{
    (void)state;
    double start = lat_clock_seconds();
    RUNS("trap '' TERM; sh -c 'trap \"\" TERM; echo $$; while :; do sleep 1; done' & while :; do sleep 1; done", .seconds_max = 0.5);
    double took = lat_clock_seconds() - start;
    assert_true(result.timed_out);
    assert_false(result.exited);
    assert_int_equal(result.signal, SIGKILL);
    assert_true(took > 0.4 && took < 15);
    await_gone(strtol(result.out.bytes, NULL, 10));
    lat_spawn_result_release(&result);
}

static void heeds_sigterm(void **state)
{
    (void)state;
    double start = lat_clock_seconds();
    RUNS("trap 'echo bye; exit 0' TERM; sleep 60 & wait", .seconds_max = 0.3);
    assert_true(lat_clock_seconds() - start < 10);
    assert_true(result.timed_out);
    assert_int_equal(result.code, 0);
    assert_false(lat_spawn_ok(&result)); // exit(0) beyond the limit is no success
    assert_string_equal(result.out.bytes, "bye\n");
    lat_spawn_result_release(&result);
    RUNS("kill -STOP $$", .seconds_max = 0.3); // stopped, it could not hear a SIGTERM
    assert_true(result.timed_out);
    lat_spawn_result_release(&result);
}

static void what_stays_behind_is_killed(void **state)
{
    (void)state;
    double start = lat_clock_seconds();
    RUNS("sleep 300 & echo $!", .seconds_max = 60); // holds stdout open
    assert_true(lat_clock_seconds() - start < 20);
    assert_true(lat_spawn_ok(&result));
    await_gone(strtol(result.out.bytes, NULL, 10));
    lat_spawn_result_release(&result);
    start = lat_clock_seconds();
    RUNS("setsid sleep 5 & echo $!", .seconds_max = 60); // left the group, still holds stdout: we do not wait for it
    assert_true(lat_clock_seconds() - start < 4);
    lat_spawn_result_release(&result);
}

static void memory(void **state)
{
    (void)state;
    double start = lat_clock_seconds();
    // awk doubles a text until it is stopped (or, without a limit, at 64 MiB).
    RUNS("exec awk 'BEGIN { s = \"0123456789abcdef\"; while (length(s) < 67108864) s = s s; while (1) {} }'", .rss_max = 20 << 20,
         .seconds_max = 100);
    assert_true(result.over_memory);
    assert_false(result.timed_out);
    assert_false(lat_spawn_ok(&result));
    assert_true(result.rss_peak > 20 << 20);
    assert_true(lat_clock_seconds() - start < 60);
    lat_spawn_result_release(&result);
    // Three processes of which none is over the limit alone.
    RUNS("for i in 1 2 3; do awk 'BEGIN { s = \"0123456789abcdef\"; while (length(s) < 16777216) s = s s; system(\"sleep 30\") }' & "
         "done; wait", .rss_max = 40 << 20, .seconds_max = 100);
    assert_true(result.over_memory);
    lat_spawn_result_release(&result);
    RUNS("true", .rss_max = 1u << 30);
    assert_false(result.over_memory);
    lat_spawn_result_release(&result);
}

static size_t open_descriptors(void)
{
    size_t n = 0;
    DIR *d = opendir("/proc/self/fd");
    assert_non_null(d);
    while (readdir(d))
        n++;
    closedir(d);
    return n;
}

static void leaves_nothing_behind(void **state)
{
    const char *none[] = { "/nonexistent/program", NULL };
    size_t before = open_descriptors();
    sigset_t mask;
    (void)state;
    for (int i = 0; i < 40; i++) {
        RUNS("echo x; echo y >&2", .input = "z", .input_length = 1);
        lat_spawn_result_release(&result);
        assert_int_equal(lat_spawn_run(&result, &(struct lat_spawn_options){ .argv = none }, &error), LAT_NOT_FOUND);
    }
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); // no zombie
    assert_int_equal(errno, ECHILD);
    assert_int_equal(pthread_sigmask(SIG_BLOCK, NULL, &mask), 0);
    assert_false(sigismember(&mask, SIGINT) || sigismember(&mask, SIGTERM) || sigismember(&mask, SIGHUP));
}

// A gate that is told to stop ends its children first. Played in a process of its own, which dies of the signal.
static void stopped_from_outside(void **state)
{
    int ends[2];
    char text[32] = "";
    (void)state;
    assert_int_equal(pipe(ends), 0);
    pid_t gate = fork();
    if (gate == 0) {
        char script[128];
        snprintf(script, sizeof script, "trap '' TERM; echo $$ >/proc/%ld/fd/%d; while :; do sleep 1; done", (long)getpid(), ends[1]);
        (void)!sh(script, (struct lat_spawn_options){ .seconds_max = 60 });
        _exit(42); // not reached: the signal comes first
    }
    ssize_t n = read(ends[0], text, sizeof text - 1);
    assert_true(n > 0);
    kill(gate, SIGINT);
    int status = 0;
    assert_int_equal(waitpid(gate, &status, 0), gate);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGINT);
    await_gone(strtol(text, NULL, 10));
    close(ends[0]);
    close(ends[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(output_and_status),
        cmocka_unit_test(arguments_are_not_words_of_a_shell),
        cmocka_unit_test(missing),
        cmocka_unit_test(not_programs),
        cmocka_unit_test(folder_environment_and_input),
        cmocka_unit_test(stdin_and_descriptors_are_not_inherited),
        cmocka_unit_test(flood),
        cmocka_unit_test(ignores_sigterm_with_a_grandchild),
        cmocka_unit_test(heeds_sigterm),
        cmocka_unit_test(what_stays_behind_is_killed),
        cmocka_unit_test(memory),
        cmocka_unit_test(leaves_nothing_behind),
        cmocka_unit_test(stopped_from_outside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
