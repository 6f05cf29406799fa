// SPDX-License-Identifier: Apache-2.0
// Copyright The Lattice authors
#include "gate/xml_reader.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "core/error.h"
#include "core/utf8.h"

enum { SCRATCH_MAX = 16 << 20, NAME_BYTES_MAX = 256 };

static enum lat_status refuse(const struct lat_xml *x, struct lat_error *error, const char *format, ...) LAT_PRINTF(3, 4);
static enum lat_status refuse(const struct lat_xml *x, struct lat_error *error, const char *format, ...)
{
    char message[300];
    size_t line = 1;
    va_list args;
    va_start(args, format);
    vsnprintf(message, sizeof message, format, args);
    va_end(args);
    for (const char *c = x->begin; c < x->at; c++)
        line += *c == '\n';
    return lat_error_set(error, LAT_FORMAT, "%.150s: line %zu: %s", x->name, line, message);
}

enum lat_status lat_xml_open(struct lat_xml *xml, const char *text, size_t length, const char *name, struct lat_error *error)
{
    *xml = (struct lat_xml){ .begin = text, .at = text, .end = text ? text + length : text, .name = name };
    lat_buf_init(&xml->scratch, SCRATCH_MAX);
    if (length > LAT_XML_BYTES_MAX)
        return lat_error_set(error, LAT_LIMIT, "%.150s: %zu bytes of XML; at most %d are read", name, length, LAT_XML_BYTES_MAX);
    size_t valid = length ? lat_utf8_check(text, length) : 0;
    if (valid < length) {
        xml->at = text + valid;
        return refuse(xml, error, "byte 0x%02x is not UTF-8", (unsigned char)text[valid]);
    }
    if (length >= 3 && memcmp(text, "\xef\xbb\xbf", 3) == 0)
        xml->at += 3;
    return LAT_OK;
}

void lat_xml_close(struct lat_xml *xml)
{
    lat_buf_release(&xml->scratch);
    *xml = (struct lat_xml){ 0 };
}

const char *lat_xml_attribute_get(const struct lat_xml_event *event, const char *name)
{
    for (size_t i = 0; i < event->attribute_count; i++)
        if (strcmp(event->attributes[i].name, name) == 0)
            return event->attributes[i].value;
    return NULL;
}

static bool is_space(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

static bool starts(const struct lat_xml *x, const char *text)
{
    size_t length = strlen(text);
    return (size_t)(x->end - x->at) >= length && memcmp(x->at, text, length) == 0;
}

static void skip_space(struct lat_xml *x)
{
    while (x->at < x->end && is_space(*x->at))
        x->at++;
}

// Moves behind the next `text`; false when there is none.
static bool skip_past(struct lat_xml *x, const char *text)
{
    const char *found = memmem(x->at, (size_t)(x->end - x->at), text, strlen(text));
    if (!found)
        return false;
    x->at = found + strlen(text);
    return true;
}

static bool is_name_byte(char c, bool first)
{
    unsigned char u = (unsigned char)c;
    if ((u >= 'a' && u <= 'z') || (u >= 'A' && u <= 'Z') || u == '_' || u == ':' || u >= 0x80)
        return true;
    return !first && ((u >= '0' && u <= '9') || u == '-' || u == '.');
}

// Length of the name at x->at, or 0.
static size_t name_length(const struct lat_xml *x)
{
    size_t n = 0;
    while (x->at + n < x->end && n <= NAME_BYTES_MAX && is_name_byte(x->at[n], n == 0))
        n++;
    return n <= NAME_BYTES_MAX ? n : 0;
}

static bool is_char(uint32_t c)
{
    return c == 9 || c == 10 || c == 13 || (c >= 0x20 && c < 0xd800) || (c >= 0xe000 && c <= 0xfffd) || (c >= 0x10000 && c <= 0x10ffff);
}

static bool read_number(const char *digits, const char *end, uint32_t *out)
{
    bool hex = digits < end && *digits == 'x';
    uint32_t value = 0, base = hex ? 16 : 10;
    digits += hex;
    if (digits == end)
        return false;
    for (; digits < end; digits++) {
        char c = *digits;
        uint32_t d = c >= '0' && c <= '9' ? (uint32_t)(c - '0')
                   : c >= 'a' && c <= 'f' ? (uint32_t)(c - 'a' + 10)
                   : c >= 'A' && c <= 'F' ? (uint32_t)(c - 'A' + 10)
                                          : 99;
        if (d >= base || value > 0x10ffff)
            return false;
        value = value * base + d;
    }
    *out = value;
    return is_char(value);
}

// "&...;" at x->at, decoded into the scratch.
static enum lat_status take_entity(struct lat_xml *x, struct lat_error *error)
{
    static const struct {
        const char *name;
        char byte;
    } known[] = { { "lt", '<' }, { "gt", '>' }, { "amp", '&' }, { "quot", '"' }, { "apos", '\'' } };
    const char *semicolon = memchr(x->at, ';', (size_t)(x->end - x->at) < 12 ? (size_t)(x->end - x->at) : 12);
    if (!semicolon)
        return refuse(x, error, "'&' without an entity");
    const char *name = x->at + 1;
    size_t length = (size_t)(semicolon - name);
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (strlen(known[i].name) == length && memcmp(known[i].name, name, length) == 0) {
            lat_buf_add_char(&x->scratch, known[i].byte);
            x->at = semicolon + 1;
            return LAT_OK;
        }
    uint32_t code = 0;
    if (length < 2 || *name != '#' || !read_number(name + 1, semicolon, &code))
        return refuse(x, error, "an unknown entity '&%.*s;'", (int)length, name);
    char bytes[4];
    lat_buf_add(&x->scratch, bytes, lat_utf8_encode(code, bytes));
    x->at = semicolon + 1;
    return LAT_OK;
}

// Text up to one of the bytes `stops`, decoded into the scratch.
static enum lat_status take_text(struct lat_xml *x, const char *stops, struct lat_error *error)
{
    while (x->at < x->end && !strchr(stops, *x->at)) {
        const char *from = x->at;
        if (*from == '&') {
            LAT_TRY(take_entity(x, error));
            continue;
        }
        while (x->at < x->end && *x->at && *x->at != '&' && !strchr(stops, *x->at))
            x->at++;
        lat_buf_add(&x->scratch, from, (size_t)(x->at - from));
        if (x->at < x->end && !*x->at)
            return refuse(x, error, "a NUL byte");
    }
    if (x->at < x->end && !*x->at)
        return refuse(x, error, "a NUL byte");
    return x->scratch.failed ? refuse(x, error, "a text over %d bytes, or no memory for it", SCRATCH_MAX) : LAT_OK;
}

// name="value" at x->at; both end up in the scratch, NUL-terminated, at the offsets given.
static enum lat_status take_attribute(struct lat_xml *x, size_t *name, size_t *value, struct lat_error *error)
{
    size_t length = name_length(x);
    if (length == 0)
        return refuse(x, error, "expected the name of an attribute");
    *name = x->scratch.length;
    lat_buf_add(&x->scratch, x->at, length);
    lat_buf_add(&x->scratch, "", 1);
    x->at += length;
    skip_space(x);
    if (x->at == x->end || *x->at != '=')
        return refuse(x, error, "an attribute without '='");
    x->at++;
    skip_space(x);
    if (x->at == x->end || (*x->at != '"' && *x->at != '\''))
        return refuse(x, error, "the value of an attribute without quotes");
    char stops[] = { *x->at++, '<', '\0' };
    *value = x->scratch.length;
    LAT_TRY(take_text(x, stops, error));
    if (x->at == x->end || *x->at != stops[0])
        return refuse(x, error, x->at == x->end ? "ends inside an attribute" : "'<' inside an attribute");
    x->at++;
    lat_buf_add(&x->scratch, "", 1);
    return LAT_OK;
}

static enum lat_status take_attributes(struct lat_xml *x, struct lat_xml_event *e, size_t *name, struct lat_error *error)
{
    size_t offsets[LAT_XML_ATTRIBUTES_MAX][2];
    for (;;) {
        bool space = x->at < x->end && is_space(*x->at);
        skip_space(x);
        if (x->at == x->end)
            return refuse(x, error, "ends inside a tag");
        if (*x->at == '>' || *x->at == '/' || *x->at == '?')
            break;
        if (!space)
            return refuse(x, error, "expected a blank before an attribute");
        if (e->attribute_count == LAT_XML_ATTRIBUTES_MAX)
            return refuse(x, error, "more than %d attributes", LAT_XML_ATTRIBUTES_MAX);
        size_t *at = offsets[e->attribute_count++];
        LAT_TRY(take_attribute(x, &at[0], &at[1], error));
    }
    if (x->scratch.failed)
        return refuse(x, error, "a tag over %d bytes, or no memory for it", SCRATCH_MAX);
    e->name = x->scratch.bytes + *name;
    for (size_t i = 0; i < e->attribute_count; i++) {
        e->attributes[i].name = x->scratch.bytes + offsets[i][0];
        e->attributes[i].value = x->scratch.bytes + offsets[i][1];
        for (size_t k = 0; k < i; k++)
            if (strcmp(e->attributes[k].name, e->attributes[i].name) == 0)
                return refuse(x, error, "attribute '%.60s' stands twice", e->attributes[i].name);
    }
    return LAT_OK;
}

static enum lat_status take_start(struct lat_xml *x, struct lat_xml_event *e, struct lat_error *error)
{
    x->at++; // '<'
    size_t length = name_length(x), name = 0;
    if (length == 0)
        return refuse(x, error, "expected the name of an element");
    if (x->depth == 0 && x->had_root && !x->many_roots)
        return refuse(x, error, "a second root element");
    if (x->depth == LAT_XML_DEPTH_MAX)
        return refuse(x, error, "nested deeper than %d", LAT_XML_DEPTH_MAX);
    x->had_root = true;
    x->open[x->depth].text = x->at;
    x->open[x->depth++].length = length;
    lat_buf_add(&x->scratch, x->at, length);
    lat_buf_add(&x->scratch, "", 1);
    x->at += length;
    LAT_TRY(take_attributes(x, e, &name, error));
    x->close_at_once = *x->at == '/';
    x->at += x->close_at_once;
    if (x->at == x->end || *x->at != '>')
        return refuse(x, error, "expected '>'");
    x->at++;
    e->kind = LAT_XML_START;
    return LAT_OK;
}

static enum lat_status give_end(struct lat_xml *x, struct lat_xml_event *e, struct lat_error *error)
{
    x->depth--;
    lat_buf_add(&x->scratch, x->open[x->depth].text, x->open[x->depth].length);
    if (x->scratch.failed)
        return refuse(x, error, "out of memory");
    e->kind = LAT_XML_END;
    e->name = x->scratch.bytes;
    x->close_at_once = false;
    return LAT_OK;
}

static enum lat_status take_end(struct lat_xml *x, struct lat_xml_event *e, struct lat_error *error)
{
    x->at += 2; // "</"
    size_t length = name_length(x);
    if (x->depth == 0 || length != x->open[x->depth - 1].length || memcmp(x->at, x->open[x->depth - 1].text, length) != 0)
        return refuse(x, error, "'</%.*s>' closes nothing that is open here", (int)length, x->at);
    x->at += length;
    skip_space(x);
    if (x->at == x->end || *x->at != '>')
        return refuse(x, error, "expected '>'");
    x->at++;
    return give_end(x, e, error);
}

static enum lat_status take_cdata(struct lat_xml *x, struct lat_xml_event *e, struct lat_error *error)
{
    if (x->depth == 0)
        return refuse(x, error, "text outside of the root element");
    x->at += strlen("<![CDATA[");
    e->kind = LAT_XML_TEXT;
    e->text = x->at;
    if (!skip_past(x, "]]>"))
        return refuse(x, error, "ends inside a CDATA section");
    e->text_length = (size_t)(x->at - 3 - e->text);
    return LAT_OK;
}

static enum lat_status take_characters(struct lat_xml *x, struct lat_xml_event *e, struct lat_error *error)
{
    const char *from = x->at;
    LAT_TRY(take_text(x, "<", error));
    for (const char *c = from; x->depth == 0 && c < x->at; c++)
        if (!is_space(*c))
            return refuse(x, error, "text outside of the root element");
    e->kind = LAT_XML_TEXT;
    e->text = x->scratch.bytes ? x->scratch.bytes : "";
    e->text_length = x->scratch.length;
    return LAT_OK;
}

// Comments and instructions say nothing to us; a document type could say anything.
static enum lat_status skip_silent(struct lat_xml *x, bool *skipped, struct lat_error *error)
{
    *skipped = true;
    if (starts(x, "<!--"))
        return skip_past(x, "-->") ? LAT_OK : refuse(x, error, "ends inside a comment");
    if (starts(x, "<?"))
        return skip_past(x, "?>") ? LAT_OK : refuse(x, error, "ends inside an instruction");
    if (starts(x, "<!") && !starts(x, "<![CDATA["))
        return refuse(x, error, "document types and entities of one's own are not read");
    *skipped = false;
    return LAT_OK;
}

enum lat_status lat_xml_next(struct lat_xml *xml, struct lat_xml_event *event, struct lat_error *error)
{
    event->attribute_count = 0;
    event->text = event->name = NULL;
    event->text_length = 0;
    lat_buf_clear(&xml->scratch);
    if (xml->close_at_once)
        return give_end(xml, event, error);
    for (bool skipped = true; skipped && xml->at < xml->end;)
        LAT_TRY(skip_silent(xml, &skipped, error));
    if (xml->at == xml->end) {
        if (xml->depth > 0)
            return refuse(xml, error, "ends before '</%.*s>': cut short?", (int)xml->open[xml->depth - 1].length,
                          xml->open[xml->depth - 1].text);
        event->kind = LAT_XML_EOF;
        return xml->had_root ? LAT_OK : refuse(xml, error, "no element at all");
    }
    if (starts(xml, "<![CDATA["))
        return take_cdata(xml, event, error);
    if (starts(xml, "</"))
        return take_end(xml, event, error);
    return *xml->at == '<' ? take_start(xml, event, error) : take_characters(xml, event, error);
}
