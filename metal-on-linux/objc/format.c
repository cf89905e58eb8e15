// What takes a variable number of arguments, which only a C compiler can make: -[NSString stringWithFormat:] and its like.
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef void* id;
typedef const char* SEL;

void metalhost_add_method(const char* name, const char* selector, const char* types, bool on_class, void* imp);
char* metalhost_describe(id object);
id objc_msgSend(id receiver, SEL selector, ...);
SEL sel_registerName(const char* name);

struct text {
    char* start;
    size_t length, room;
};

static void append(struct text* text, const char* part, size_t length) {
    if (text->length + length + 1 > text->room) {
        text->room = 2 * (text->length + length + 1);
        text->start = realloc(text->start, text->room);
        if (!text->start) abort();
    }
    memcpy(text->start + text->length, part, length);
    text->length += length;
    text->start[text->length] = 0;
}

#define PRINT(type)                                                                                          \
    do {                                                                                                     \
        type value = va_arg(*arguments, type);                                                               \
        int length = stars == 2   ? snprintf(room, sizeof room, item, star[0], star[1], value)               \
                     : stars == 1 ? snprintf(room, sizeof room, item, star[0], value)                        \
                                  : snprintf(room, sizeof room, item, value);                                \
        if (length >= (int)sizeof room) length = sizeof room - 1;                                            \
        if (length > 0) append(text, room, (size_t)length);                                                  \
    } while (0)

// One conversion, which starts behind the percent sign; returns where it ends.
static const char* convert(struct text* text, const char* at, va_list* arguments) {
    const char* start = at;
    int star[2], stars = 0, longs = 0;
    for (; *at && strchr("-+ #0123456789.*'", *at); at++) {
        if (*at == '*' && stars < 2) star[stars++] = va_arg(*arguments, int);
    }
    for (; *at && strchr("hlqzjtL", *at); at++) {
        if (*at != 'h') longs++;
    }
    char item[64], room[4096];
    snprintf(item, sizeof item, "%%%.*s", (int)(at + 1 - start), start);
    switch (*at) {
    case '@': {
        char* description = metalhost_describe(va_arg(*arguments, id));
        append(text, description, strlen(description));
        free(description);
        break;
    }
    case 'd': case 'i': case 'u': case 'x': case 'X': case 'o': case 'c':
        if (longs) PRINT(long long);
        else PRINT(int);
        break;
    case 'f': case 'F': case 'e': case 'E': case 'g': case 'G': case 'a': case 'A': PRINT(double); break;
    case 'p': PRINT(void*); break;
    case 's': {
        const char* part = va_arg(*arguments, const char*);
        if (stars == 0 && at == start) append(text, part ? part : "(null)", strlen(part ? part : "(null)"));
        else {
            int length = stars == 1 ? snprintf(room, sizeof room, item, star[0], part) : snprintf(room, sizeof room, item, part);
            if (length > 0) append(text, room, length < (int)sizeof room ? (size_t)length : sizeof room - 1);
        }
        break;
    }
    case '%': append(text, "%", 1); break;
    case 0: return at;
    default: append(text, item, strlen(item));
    }
    return at + 1;
}

static char* format_text(id format, va_list arguments) {
    char* pattern = metalhost_describe(format);
    struct text text = {0};
    append(&text, "", 0);
    va_list rest;
    va_copy(rest, arguments);
    for (const char* at = pattern; *at;) {
        size_t plain = strcspn(at, "%");
        append(&text, at, plain);
        at += plain;
        if (*at == '%') at = convert(&text, at + 1, &rest);
    }
    va_end(rest);
    free(pattern);
    return text.start;
}

static id send_text(id receiver, const char* selector, const char* text) {
    return ((id(*)(id, SEL, const char*))objc_msgSend)(receiver, sel_registerName(selector), text);
}

static id string_with_format(id class, SEL selector, id format, ...) {
    (void)selector;
    va_list arguments;
    va_start(arguments, format);
    char* text = format_text(format, arguments);
    va_end(arguments);
    id made = send_text(class, "stringWithUTF8String:", text);
    free(text);
    return made;
}

static id init_with_format(id object, SEL selector, id format, ...) {
    (void)selector;
    va_list arguments;
    va_start(arguments, format);
    char* text = format_text(format, arguments);
    va_end(arguments);
    id made = send_text(object, "initWithUTF8String:", text);
    free(text);
    return made;
}

static void append_format(id string, SEL selector, id format, ...) {
    (void)selector;
    va_list arguments;
    va_start(arguments, format);
    char* text = format_text(format, arguments);
    va_end(arguments);
    id more = send_text(objc_msgSend(objc_msgSend(string, sel_registerName("class")), sel_registerName("alloc")),
                        "initWithUTF8String:", text);
    free(text);
    objc_msgSend(string, sel_registerName("appendString:"), more);
    objc_msgSend(more, sel_registerName("release"));
}

void NSLog(id format, ...) {
    va_list arguments;
    va_start(arguments, format);
    char* text = format_text(format, arguments);
    va_end(arguments);
    fprintf(stderr, "%s\n", text);
    free(text);
}

__attribute__((constructor)) static void add_methods(void) {
    metalhost_add_method("NSString", "stringWithFormat:", "@@:@", true, string_with_format);
    metalhost_add_method("NSString", "initWithFormat:", "@@:@", false, init_with_format);
    metalhost_add_method("NSMutableString", "appendFormat:", "v@:@", false, append_format);
}
