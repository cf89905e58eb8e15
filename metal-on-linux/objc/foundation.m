// What Objective-C programs use of Foundation and Dispatch beside Metal: strings, collections, files, queues. Ends with the line that
// first went wrong.
#include <Metal/Metal.h>
#include <stdatomic.h>
#include <stdio.h>

#define CHECK(...)                                                                                           \
    do {                                                                                                     \
        if (!(__VA_ARGS__)) {                                                                                \
            printf("line %d: %s\n", __LINE__, #__VA_ARGS__);                                                 \
            return false;                                                                                    \
        }                                                                                                    \
    } while (0)

static bool strings(void) {
    NSString* made = [NSString stringWithFormat:@"%@ has %d%% of %s, %5.2f, %zu, %-4x|%c", @"x", 7, "all", 2.5, (size_t)9, 255, 'z'];
    CHECK([made isEqualToString:@"x has 7% of all,  2.50, 9, ff  |z"]);
    CHECK([[NSString stringWithFormat:@"%*d %.*s %@ %lld", 4, 5, 2, "abc", @[ @1, @"b" ], -1ll] isEqualToString:@"   5 ab (1, b) -1"]);
    NSMutableString* grown = [[NSMutableString alloc] init];
    [grown appendString:@"a"];
    [grown appendFormat:@"-%d", 12];
    NSString* copy = [grown copy];
    [grown appendString:@"!"];
    CHECK([copy isEqualToString:@"a-12"] && !strcmp(grown.UTF8String, "a-12!"));
    [copy release];
    [grown release];
    CHECK([[@"  a b\t" stringByTrimmingCharactersInSet:[NSCharacterSet whitespaceCharacterSet]] isEqualToString:@"a b"]);
    CHECK([[@"/a/./b/../c//d" stringByStandardizingPath] isEqualToString:@"/a/c/d"]);
    NSString* path = [NSString pathWithComponents:@[ @"/tmp", [@"x" stringByAppendingPathExtension:@"metal"] ]];
    CHECK([path isEqualToString:@"/tmp/x.metal"] && [[path lastPathComponent] isEqualToString:@"x.metal"]);
    CHECK([[@"hello" substringToIndex:2] isEqualToString:@"he"] && [[@"hello" substringFromIndex:3] isEqualToString:@"lo"]);
    CHECK([@"hello" rangeOfString:@"ll"].location == 2 && [@"hello" rangeOfString:@"x"].location == NSNotFound);
    NSScanner* scanner = [NSScanner scannerWithString:@"  # include \"a b.h\" x"];
    NSString* name = nil;
    CHECK([scanner scanString:@"#" intoString:NULL] && [scanner scanString:@"include" intoString:NULL]);
    CHECK([scanner scanString:@"\"" intoString:NULL] && [scanner scanUpToString:@"\"" intoString:&name]);
    CHECK([name isEqualToString:@"a b.h"] && ![scanner scanString:@"y" intoString:NULL]);
    return true;
}

static bool collections(void) {
    NSMutableSet* seen = [NSMutableSet set];
    for (NSString* word in @[ @"a", @"b", @"a" ]) [seen addObject:word];
    CHECK(seen.count == 2 && [seen containsObject:@"b"] && ![seen containsObject:@"c"]);
    CHECK([NSSet setWithArray:@[ @1, @1, @2 ]].count == 2);
    NSString* got[3] = {nil, nil, nil};
    [@[ @"x", @"y" ] getObjects:got];
    CHECK([got[0] isEqualToString:@"x"] && [got[1] isEqualToString:@"y"] && !got[2]);
    [@[ @"x", @"y", @"z" ] getObjects:got + 1 range:NSMakeRange(1, 2)];
    CHECK([got[1] isEqualToString:@"y"] && [got[2] isEqualToString:@"z"]);
    NSMutableDictionary* table = [NSMutableDictionary dictionary];
    for (int i = 0; i < 100; i++) table[[NSString stringWithFormat:@"k%d", i]] = @(i);
    table[@"k7"] = @70;
    CHECK(table.count == 100 && [table[@"k7"] intValue] == 70 && [table[@"k99"] intValue] == 99 && !table[@"none"]);
    int keys = 0;
    for (NSString* key in table) keys += [key hasPrefix:@"k"];
    CHECK(keys == 100);
    NSError* error = [NSError errorWithDomain:@"d" code:3 userInfo:@{NSLocalizedDescriptionKey : @"why"}];
    CHECK(error.code == 3 && [error.localizedDescription isEqualToString:@"why"]);
    return true;
}

static bool files(void) {
    NSFileManager* manager = [NSFileManager defaultManager];
    NSError* error = nil;
    CHECK(![manager attributesOfItemAtPath:@"/no/such/file" error:&error] && error.localizedDescription.length > 0);
    NSDictionary* facts = [manager attributesOfItemAtPath:@"/proc/self/exe" error:&error];
    CHECK(facts[NSFileType] == NSFileTypeSymbolicLink);
    NSString* to = [manager destinationOfSymbolicLinkAtPath:@"/proc/self/exe" error:&error];
    CHECK([manager isReadableFileAtPath:to] && [[NSBundle mainBundle].bundlePath isEqualToString:[to stringByDeletingLastPathComponent]]);
    CHECK([NSProcessInfo processInfo].physicalMemory > 1 << 20);
    return true;
}

static bool queues(void) {
    __block atomic_int sum = 0;
    void (^add)(size_t) = ^(size_t i) { atomic_fetch_add(&sum, (int)i); };
    dispatch_queue_t wide = dispatch_queue_create("wide", DISPATCH_QUEUE_CONCURRENT);
    dispatch_apply(10, wide, add);
    CHECK(sum == 45);
    dispatch_group_t group = dispatch_group_create();
    for (int i = 0; i < 4; i++) dispatch_group_async(group, wide, ^{ atomic_fetch_add(&sum, 1); });
    CHECK(dispatch_group_wait(group, DISPATCH_TIME_FOREVER) == 0 && sum == 49);
    dispatch_queue_t line = dispatch_queue_create("line", DISPATCH_QUEUE_SERIAL);
    __block int order = 0;
    for (int i = 1; i <= 5; i++) dispatch_async(line, ^{ order = order * 10 + i; });
    __block int seen = 0;
    dispatch_sync(line, ^{ seen = order; });
    CHECK(seen == 12345);
    dispatch_semaphore_t semaphore = dispatch_semaphore_create(0);
    CHECK(dispatch_semaphore_wait(semaphore, dispatch_time(DISPATCH_TIME_NOW, 1000000)) != 0);
    dispatch_async(wide, ^{ dispatch_semaphore_signal(semaphore); });
    CHECK(dispatch_semaphore_wait(semaphore, DISPATCH_TIME_FOREVER) == 0);
    static dispatch_once_t once;
    for (int i = 0; i < 3; i++) dispatch_once(&once, ^{ atomic_fetch_add(&sum, 1); });
    CHECK(sum == 50);
    dispatch_release(semaphore);
    dispatch_release(line);
    dispatch_release(group);
    dispatch_release(wide);
    return true;
}

int main(void) {
    @autoreleasepool {
        if (!strings() || !collections() || !files() || !queues()) return 1;
        printf("strings, collections, files and queues: ok\n");
    }
    return 0;
}
