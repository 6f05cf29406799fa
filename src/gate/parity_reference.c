// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
//
// A reference before anything is run: is it what was agreed upon, and is it of the model that lies there?
#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/error.h"
#include "core/file.h"
#include "core/json.h"
#include "gate/parity_engine.h"
#include "gate/parity_judge.h"
#include "gate/parity_tensors.h"

enum { PATH_BYTES = 4400 };

void lat_parity_note(struct lat_leg_result *result, struct lat_parity_outcome *outcome, int rung, enum lat_leg_state state,
                     const char *code, const char *fix, const char *format, ...)
{
    char text[900];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    lat_leg_find(result, state, code, outcome->reference->file, 0, fix, "%s: %s", outcome->reference->name, text);
    outcome->state = lat_leg_state_worse(outcome->state, state);
    if (rung < 0)
        return;
    struct lat_parity_rung *r = &outcome->rungs[rung];
    if (!r->judged || state > r->state) {
        r->state = state;
        snprintf(r->text, sizeof r->text, "%.*s", (int)sizeof r->text - 1, text);
    }
    r->judged = true;
}

static enum lat_status make_folder(const char *path, struct lat_error *error)
{
    return mkdir(path, 0777) == 0 || errno == EEXIST ? LAT_OK : lat_error_errno(error, errno, "make", path);
}

enum lat_status lat_parity_folder(char *out, size_t size, const struct lat_gate_run *run, const char *leg, const char *name,
                                  struct lat_error *error)
{
    const char *parts[] = { "parity", leg, name };
    size_t length = strlen(run->work);
    if (length >= size)
        return lat_error_set(error, LAT_LIMIT, "%.80s...: a path that is too long", run->work);
    memcpy(out, run->work, length + 1);
    for (size_t i = 0; i < 3 && parts[i]; i++) {
        int n = snprintf(out + length, size - length, "/%s", parts[i]);
        if (n < 0 || (size_t)n >= size - length)
            return lat_error_set(error, LAT_LIMIT, "%.80s...: a path that is too long", run->work);
        length += (size_t)n;
        LAT_TRY(make_folder(out, error));
    }
    return LAT_OK;
}

#define NOTE(state, code, fix, ...) lat_parity_note(result, outcome, -1, state, code, fix, __VA_ARGS__)

static const char freeze_fix[] = "look at what changed; when it is meant, 'lattice-gate parity freeze' writes the digests anew";

// A file's digest against the agreed one. Without one: unarmed.
static bool check_digest(const char *path, const char *what, const char *agreed, char hex[LAT_SHA256_HEX_SIZE],
                         struct lat_parity_outcome *outcome, struct lat_leg_result *result)
{
    struct lat_error error = { 0 };
    if (lat_parity_digest(path, hex, &error) != LAT_OK) {
        NOTE(LAT_LEG_ERROR, "P801", "restore the file, or correct its name", "the %s cannot be read: %s", what, error.text);
        return false;
    }
    if (!agreed) {
        outcome->armed = false;
        NOTE(LAT_LEG_UNMEASURABLE, "P801", "'lattice-gate parity freeze' writes digests; commit the lock file after a look at them",
             "the %s is unarmed: neither the policy nor the lock says its sha256, so nobody agreed to it", what);
    } else if (strcmp(agreed, hex) != 0) {
        NOTE(LAT_LEG_ERROR, "P801", freeze_fix, "the %s is another file than was agreed: sha256 %.12s..., agreed %.12s...", what, hex,
             agreed);
        return false;
    }
    return true;
}

static bool is_pickle(const char *name)
{
    static const char *const ends[] = { ".bin", ".pt", ".pth", ".pkl", ".pickle", ".ckpt" };
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (length > strlen(ends[i]) && strcmp(name + length - strlen(ends[i]), ends[i]) == 0)
            return true;
    return false;
}

static bool check_no_pickle(const char *folder, struct lat_parity_outcome *outcome, struct lat_leg_result *result)
{
    DIR *dir = opendir(folder);
    bool fine = dir != NULL;
    if (!dir)
        NOTE(LAT_LEG_ERROR, "P807", "correct 'model', or put the model there", "there is no model folder %s", outcome->reference->model);
    for (struct dirent *e; dir && (e = readdir(dir)) != NULL;)
        if (is_pickle(e->d_name)) {
            NOTE(LAT_LEG_ERROR, "P807", "convert the weights to safetensors, which hold no code",
                 "the model folder holds pickled data: %.200s",
                 e->d_name);
            fine = false;
        }
    if (dir)
        closedir(dir);
    return fine;
}

// Digests in the reference's metadata against the files that lie in the model's folder now.
static bool check_model(const char *folder, const struct lat_st_file *file, struct lat_parity_outcome *outcome,
                        struct lat_leg_result *result)
{
    struct lat_error error = { 0 };
    struct lat_json digests = { 0 };
    const char *text = lat_st_metadata(file, "model_sha256");
    bool fine = text && lat_json_parse(&digests, text, strlen(text), "model_sha256", &error) == LAT_OK
             && digests.root->kind == LAT_JSON_OBJECT && digests.root->count > 0;
    if (!fine)
        NOTE(LAT_LEG_ERROR, "P807", "write the reference anew", "the reference does not say which model files it was made from");
    for (const struct lat_json_node *n = fine ? digests.root->u.child : NULL; n; n = n->next) {
        char path[PATH_BYTES], name[256], hex[LAT_SHA256_HEX_SIZE];
        snprintf(name, sizeof name, "%.*s", (int)(n->key_length < 255 ? n->key_length : 255), n->key);
        if (strchr(name, '/') || snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path) {
            NOTE(LAT_LEG_ERROR, "P807", NULL, "the reference names a model file outside of the folder: %.100s", name);
            fine = false;
        } else if (lat_parity_digest(path, hex, &error) != LAT_OK) {
            NOTE(LAT_LEG_ERROR, "P807", "restore the model's files", "a file of the model cannot be read: %s", error.text);
            fine = false;
        } else if (n->kind != LAT_JSON_STRING || !lat_json_is_text(n, hex)) {
            NOTE(LAT_LEG_ERROR, "P807", "write the reference anew for this model, or restore the model",
                 "%s of the model is another file than the reference was made from: the reference is stale", name);
            fine = false;
        }
    }
    lat_json_release(&digests);
    return fine;
}

static bool check_floor(const struct lat_st_file *file, double floor_max, struct lat_parity_outcome *outcome, struct lat_leg_result *result)
{
    struct lat_error error = { 0 };
    struct lat_json floors = { 0 };
    const char *text = lat_st_metadata(file, "floor");
    double worst = 0;
    bool fine = text && lat_json_parse(&floors, text, strlen(text), "floor", &error) == LAT_OK && floors.root->kind == LAT_JSON_OBJECT;
    for (const struct lat_json_node *n = fine ? floors.root->u.child : NULL; n; n = n->next) {
        double a = 0, b = 0;
        fine = fine && lat_json_to_double(lat_json_get(n, "max_prefill"), &a) && lat_json_to_double(lat_json_get(n, "max_steps"), &b)
            && isfinite(a) && isfinite(b) && a >= 0 && b >= 0;
        worst = fmax(worst, fmax(a, b));
    }
    lat_json_release(&floors);
    if (!fine)
        NOTE(LAT_LEG_ERROR, "P801", "write the reference anew", "the reference does not say how far Hugging Face is from the truth");
    else if (worst > floor_max)
        NOTE(LAT_LEG_ERROR, "P804", "find out why it is so noisy; a wider limit would let faults through",
             "the reference is too noisy to judge with: its floor is %.3g, at most %.3g may be", worst, floor_max);
    return fine && worst <= floor_max;
}

static bool check_ids(const struct lat_gate_run *run, const struct lat_st_file *file, struct lat_parity_outcome *outcome,
                      struct lat_leg_result *result)
{
    struct lat_error error = { 0 };
    struct lat_parity_prompts prompts = { 0 };
    char path[PATH_BYTES];
    bool fine = lat_parity_prompts_read(&prompts, file, false, &error) == LAT_OK;
    if (fine && outcome->reference->ids)
        fine = lat_parity_path(path, sizeof path, run->root, outcome->reference->ids, &error) == LAT_OK
            && lat_parity_prompts_match(&prompts, path, &error) == LAT_OK;
    if (!fine)
        NOTE(LAT_LEG_ERROR, "P801", "take both from the same run of the generator", "prompts and reference do not belong together: %s",
             error.text);
    lat_parity_prompts_release(&prompts);
    return fine;
}

static const char *said(const struct lat_st_file *file, const char *key)
{
    const char *text = lat_st_metadata(file, key);
    return text ? text : "?";
}

// HF's own speed, when the generator has measured it: {"p0": {"decode_tokens_s": 31.5}}
static void take_speed(const struct lat_st_file *file, struct lat_parity_outcome *outcome)
{
    struct lat_json doc;
    const char *text = lat_st_metadata(file, "speed");
    size_t count = lat_parity_prompts(file);
    if (!text || lat_json_parse(&doc, text, strlen(text), "speed", NULL) != LAT_OK)
        return;
    outcome->hf_decode_tokens_s = lat_mem_new(count, sizeof *outcome->hf_decode_tokens_s);
    for (size_t k = 0; outcome->hf_decode_tokens_s && k < count; k++) {
        char name[32];
        snprintf(name, sizeof name, "p%zu", k);
        if (!lat_json_to_double(lat_json_get(lat_json_get(doc.root, name), "decode_tokens_s"), &outcome->hf_decode_tokens_s[k]))
            outcome->hf_decode_tokens_s[k] = 0;
    }
    lat_json_release(&doc);
}

bool lat_parity_reference_check(const struct lat_gate_run *run, const struct lat_parity_config *config,
                                const struct lat_parity_reference *reference, struct lat_parity_outcome *outcome,
                                struct lat_leg_result *result)
{
    char path[PATH_BYTES], operators[PATH_BYTES] = "", model[PATH_BYTES], hex[LAT_SHA256_HEX_SIZE];
    struct lat_st_file *file = NULL;
    struct lat_error error = { 0 };
    *outcome = (struct lat_parity_outcome){ .reference = reference, .armed = true };
    if (lat_parity_path(path, sizeof path, run->root, reference->file, &error) != LAT_OK
        || lat_parity_path(model, sizeof model, run->root, reference->model, &error) != LAT_OK
        || (reference->operators && lat_parity_path(operators, sizeof operators, run->root, reference->operators, &error) != LAT_OK)) {
        NOTE(LAT_LEG_ERROR, "P801", NULL, "%s", error.text);
        return false;
    }
    bool fine = check_digest(path, "reference", reference->sha256, outcome->sha256, outcome, result);
    if (reference->operators)
        fine = check_digest(operators, "operator reference", reference->operators_sha256, hex, outcome, result) && fine;
    if (!fine)
        return false;
    if (lat_st_open(&file, path, &error) != LAT_OK) {
        NOTE(LAT_LEG_ERROR, "P801", "restore the file", "the reference cannot be read: %s", error.text);
        return false;
    }
    snprintf(outcome->origin, sizeof outcome->origin, "transformers %.40s, torch %.40s, %.60s", said(file, "transformers"),
             said(file, "torch"), said(file, "generator"));
    take_speed(file, outcome);
    fine = check_ids(run, file, outcome, result);
    fine = check_no_pickle(model, outcome, result) && check_model(model, file, outcome, result) && fine;
    fine = check_floor(file, config->floor_max, outcome, result) && fine;
    lat_st_close(file);
    return fine;
}
