// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/sealed_json.h"

#include <stdlib.h>
#include <string.h>

#include "core/error.h"
#include "core/file.h"
#include "core/sha256.h"

static enum lat_status digest_of(json_t *object, char hex[65], struct lat_error *error)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_SORT_KEYS);
    if (!text)
        return lat_error_memory(error, "evidence");
    struct lat_sha256 hash;
    lat_sha256_init(&hash);
    lat_sha256_add(&hash, text, strlen(text));
    lat_sha256_hex(&hash, hex);
    free(text);
    return LAT_OK;
}

enum lat_status lat_sealed_write(json_t *object, const char *path, struct lat_error *error)
{
    char hex[65];
    struct lat_file_out out;
    json_object_del(object, "digest");
    LAT_TRY(digest_of(object, hex, error));
    char *text = json_object_set_new(object, "digest", json_string(hex)) == 0 ? json_dumps(object, JSON_INDENT(1) | JSON_SORT_KEYS) : NULL;
    if (!text)
        return lat_error_memory(error, "evidence");
    enum lat_status status = lat_file_out_open(&out, path, error);
    if (status == LAT_OK) {
        status = lat_file_out_write(&out, 0, text, strlen(text), error);
        if (status == LAT_OK)
            status = lat_file_out_commit(&out, error);
        else
            lat_file_out_abort(&out);
    }
    free(text);
    return status;
}

static enum lat_status check(json_t *object, const char *path, const char *schema, struct lat_error *error)
{
    char hex[65];
    const char *has = json_string_value(json_object_get(object, "schema"));
    json_t *digest = json_incref(json_object_get(object, "digest"));
    if (!has || strcmp(has, schema) != 0) {
        json_decref(digest);
        return lat_error_set(error, LAT_FORMAT, "%s: is no %s", path, schema);
    }
    json_object_del(object, "digest");
    enum lat_status status = digest_of(object, hex, error);
    if (status == LAT_OK && (!json_is_string(digest) || strcmp(json_string_value(digest), hex) != 0))
        status = lat_error_set(error, LAT_FORMAT, "%s: was cut or edited: its digest does not fit", path);
    json_decref(digest);
    return status;
}

enum lat_status lat_sealed_read(json_t **object, const char *path, const char *schema, struct lat_error *error)
{
    struct lat_file_map map;
    json_error_t where;
    *object = NULL;
    LAT_TRY(lat_file_map_open(&map, path, error));
    enum lat_status status = LAT_OK;
    if (map.length > LAT_SEALED_BYTES_MAX)
        status = lat_error_set(error, LAT_LIMIT, "%s: is larger than %d MiB", path, LAT_SEALED_BYTES_MAX >> 20);
    else
        *object = json_loadb((const char *)map.bytes, map.length, JSON_REJECT_DUPLICATES, &where);
    if (status == LAT_OK && !json_is_object(*object))
        status = lat_error_set(error, LAT_FORMAT, "%s: line %d: is no JSON object", path, *object ? 1 : where.line);
    lat_file_map_close(&map);
    if (status == LAT_OK)
        status = check(*object, path, schema, error);
    if (status != LAT_OK) {
        json_decref(*object);
        *object = NULL;
    }
    return status;
}
