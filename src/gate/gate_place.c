// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/gate_place.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/error.h"
#include "core/file.h"

static enum lat_status too_long(struct lat_error *error, const char *path)
{
    return lat_error_set(error, LAT_LIMIT, "%.100s...: a path that is too long", path);
}

static enum lat_status join(char *out, size_t size, const char *folder, const char *name, struct lat_error *error)
{
    int n = snprintf(out, size, "%s%s%s", folder, strcmp(folder, "/") == 0 ? "" : "/", name);
    return n > 0 && (size_t)n < size ? LAT_OK : too_long(error, folder);
}

// Cuts the last component off an absolute path; false at the root.
static bool go_up(char *folder)
{
    char *slash = strrchr(folder, '/');
    if (!slash || strcmp(folder, "/") == 0)
        return false;
    slash[slash == folder] = '\0';
    return true;
}

static enum lat_status find_policy(struct lat_gate_place *place, struct lat_error *error)
{
    if (!getcwd(place->root, sizeof place->root))
        return lat_error_errno(error, errno, "find", "the current folder");
    do {
        LAT_TRY(join(place->policy, sizeof place->policy, place->root, "gate.yaml", error));
        if (lat_file_exists(place->policy))
            return LAT_OK;
    } while (go_up(place->root));
    return lat_error_set(error, LAT_NOT_FOUND, "no gate.yaml here or in a folder above; 'lattice-gate init' writes a first one");
}

// A folder of evidence is nothing that git should offer to add.
static enum lat_status make_work(const char *work, struct lat_error *error)
{
    char ignore[4200];
    if (mkdir(work, 0777) != 0 && errno != EEXIST)
        return lat_error_errno(error, errno, "make", work);
    if (!lat_file_is_folder(work))
        return lat_error_set(error, LAT_IO, "%s: not a folder", work);
    LAT_TRY(join(ignore, sizeof ignore, work, ".gitignore", error));
    int fd = open(ignore, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0)
        return errno == EEXIST ? LAT_OK : lat_error_errno(error, errno, "create", ignore);
    bool written = write(fd, "*\n", 2) == 2;
    return close(fd) == 0 && written ? LAT_OK : lat_error_errno(error, errno, "write", ignore);
}

enum lat_status lat_gate_place_find(struct lat_gate_place *place, const char *policy, const char *work, struct lat_error *error)
{
    char real[PATH_MAX];
    if (policy) {
        if (!realpath(policy, real))
            return lat_error_errno(error, errno, "open", policy);
        if (snprintf(place->policy, sizeof place->policy, "%s", policy) >= (int)sizeof place->policy)
            return too_long(error, policy);
        go_up(real);
        snprintf(place->root, sizeof place->root, "%s", real);
    } else
        LAT_TRY(find_policy(place, error));
    if (!work)
        LAT_TRY(join(place->work, sizeof place->work, place->root, ".gate", error));
    else if (*work == '/')
        snprintf(place->work, sizeof place->work, "%s", work);
    else {
        if (!getcwd(real, sizeof real))
            return lat_error_errno(error, errno, "find", "the current folder");
        LAT_TRY(join(place->work, sizeof place->work, real, work, error));
    }
    return make_work(place->work, error);
}
