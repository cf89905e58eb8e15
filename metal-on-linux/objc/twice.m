// An Objective-C program for Metal: doubles numbers on the device, with a class, a category, blocks and string literals of its own.
// Apple's headers are not here, so that it declares what it uses.
#include <stdbool.h>
#include <stdio.h>

#define nil ((id)0)
typedef unsigned long NSUInteger;
typedef struct { NSUInteger width, height, depth; } MTLSize;

__attribute__((objc_root_class)) @interface NSObject {
    Class isa;
}
+ (id)alloc;
+ (id)new;
- (id)init;
- (void)dealloc;
- (void)release;
- (bool)respondsToSelector:(SEL)selector;
@end
@interface NSString : NSObject
- (const char*)UTF8String;
- (NSUInteger)length;
@end
@interface NSError : NSObject
- (NSString*)localizedDescription;
@end
@interface NSNumber : NSObject
+ (NSNumber*)numberWithInt:(int)value;
- (int)intValue;
@end
@protocol Metal
- (id)newCommandQueue;
- (id)newLibraryWithSource:(NSString*)source options:(id)options error:(NSError**)error;
- (id)newFunctionWithName:(NSString*)name;
- (id)newComputePipelineStateWithFunction:(id)function error:(NSError**)error;
- (id)newBufferWithLength:(NSUInteger)length options:(NSUInteger)options;
- (void*)contents;
- (id)commandBuffer;
- (id)computeCommandEncoder;
- (void)setComputePipelineState:(id)state;
- (void)setBuffer:(id)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)dispatchThreads:(MTLSize)grid threadsPerThreadgroup:(MTLSize)threads;
- (void)endEncoding;
- (void)addCompletedHandler:(void (^)(id))handler;
- (void)commit;
- (void)waitUntilCompleted;
- (MTLSize)maxThreadsPerThreadgroup;
- (double)GPUEndTime;
@end
id<Metal> MTLCreateSystemDefaultDevice(void);

@interface Doubler : NSObject {
    id<Metal> device, queue, pipeline;
    int runs;
}
- (bool)prepare;
- (bool)run:(id<Metal>)buffer;
@end
@interface Doubler (Counting)
- (NSNumber*)count;
@end

@implementation Doubler
- (bool)prepare {
    device = MTLCreateSystemDefaultDevice();
    queue = [device newCommandQueue];
    NSError* error = nil;
    NSString* source = @"#include <metal_stdlib>\n"
                        "kernel void twice(device float* x, uint i [[thread_position_in_grid]]) { x[i] *= 2; }";
    id<Metal> library = [device newLibraryWithSource:source options:nil error:&error];
    if (!library) {
        printf("%s\n", [[error localizedDescription] UTF8String]);
        return false;
    }
    id function = [library newFunctionWithName:@"twice"];
    pipeline = [device newComputePipelineStateWithFunction:function error:&error];
    [function release];
    [(id)library release];
    return pipeline != nil && [device maxThreadsPerThreadgroup].width == 1024;
}
- (bool)run:(id<Metal>)buffer {
    __block bool told = false;
    @autoreleasepool {
        id<Metal> command = [queue commandBuffer];
        id<Metal> encoder = [command computeCommandEncoder];
        [encoder setComputePipelineState:pipeline];
        [encoder setBuffer:buffer offset:0 atIndex:0];
        [encoder dispatchThreads:(MTLSize){8, 1, 1} threadsPerThreadgroup:(MTLSize){8, 1, 1}];
        [encoder endEncoding];
        [command addCompletedHandler:^(id done) {
            told = [done GPUEndTime] > 0;
            runs++;
        }];
        [command commit];
        [command waitUntilCompleted];
    }
    return told;
}
- (void)dealloc {
    [(id)pipeline release];
    [(id)queue release];
    [(id)device release];
    [super dealloc];
}
@end
@implementation Doubler (Counting)
- (NSNumber*)count {
    return [NSNumber numberWithInt:runs];
}
@end

int main(void) {
    @autoreleasepool {
        Doubler* doubler = [[Doubler alloc] init];
        if (![doubler prepare] || [doubler respondsToSelector:@selector(flyingCarpet)]) return 1;
        id<Metal> device = MTLCreateSystemDefaultDevice();
        id<Metal> buffer = [device newBufferWithLength:32 options:0];
        float* values = [buffer contents];
        for (int i = 0; i < 8; i++) values[i] = i;
        if (![doubler run:buffer] || ![doubler run:buffer]) return 2;
        for (int i = 0; i < 8; i++) {
            if (values[i] != 4.0f * i) return 3;
        }
        printf("%d runs, %lu letters\n", [[doubler count] intValue], [@"metal" length]);
        [(id)buffer release];
        [(id)device release];
        [doubler release];
    }
    return 0;
}
