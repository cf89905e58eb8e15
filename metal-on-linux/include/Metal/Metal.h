// The part of Metal that crates/metalhost has: compute, for Objective-C that clang compiles for Apple's runtime on Linux.
#pragma once
#include <Foundation/Foundation.h>

typedef struct { NSUInteger width, height, depth; } MTLSize;
typedef struct { NSUInteger size, align; } MTLSizeAndAlign;
typedef uint64_t MTLTimestamp;

static inline MTLSize MTLSizeMake(NSUInteger width, NSUInteger height, NSUInteger depth) {
    return (MTLSize){width, height, depth};
}

typedef NS_ENUM(NSInteger, MTLGPUFamily) {
    MTLGPUFamilyApple1 = 1001, MTLGPUFamilyApple2, MTLGPUFamilyApple3, MTLGPUFamilyApple4, MTLGPUFamilyApple5,
    MTLGPUFamilyApple6, MTLGPUFamilyApple7, MTLGPUFamilyApple8, MTLGPUFamilyApple9, MTLGPUFamilyApple10,
    MTLGPUFamilyMac1 = 2001, MTLGPUFamilyMac2,
    MTLGPUFamilyCommon1 = 3001, MTLGPUFamilyCommon2, MTLGPUFamilyCommon3,
    MTLGPUFamilyMetal3 = 5001, MTLGPUFamilyMetal4,
};
typedef NS_ENUM(NSUInteger, MTLCommandBufferStatus) {
    MTLCommandBufferStatusNotEnqueued, MTLCommandBufferStatusEnqueued, MTLCommandBufferStatusCommitted,
    MTLCommandBufferStatusScheduled, MTLCommandBufferStatusCompleted, MTLCommandBufferStatusError,
};
typedef NS_OPTIONS(NSUInteger, MTLResourceOptions) {
    MTLResourceCPUCacheModeDefaultCache = 0, MTLResourceCPUCacheModeWriteCombined = 1,
    MTLResourceStorageModeShared = 0 << 4, MTLResourceStorageModeManaged = 1 << 4, MTLResourceStorageModePrivate = 2 << 4,
    MTLResourceHazardTrackingModeDefault = 0 << 8, MTLResourceHazardTrackingModeUntracked = 1 << 8,
    MTLResourceHazardTrackingModeTracked = 2 << 8,
};
typedef NS_ENUM(NSUInteger, MTLStorageMode) { MTLStorageModeShared, MTLStorageModeManaged, MTLStorageModePrivate };
typedef NS_ENUM(NSUInteger, MTLDispatchType) { MTLDispatchTypeSerial, MTLDispatchTypeConcurrent };
typedef NS_OPTIONS(NSUInteger, MTLBarrierScope) { MTLBarrierScopeBuffers = 1 };
typedef NS_OPTIONS(NSUInteger, MTLResourceUsage) { MTLResourceUsageRead = 1, MTLResourceUsageWrite = 2 };
typedef NS_ENUM(NSUInteger, MTLLanguageVersion) {
    MTLLanguageVersion2_0 = (2 << 16), MTLLanguageVersion2_1 = (2 << 16) + 1, MTLLanguageVersion2_2 = (2 << 16) + 2,
    MTLLanguageVersion2_3 = (2 << 16) + 3, MTLLanguageVersion2_4 = (2 << 16) + 4, MTLLanguageVersion3_0 = (3 << 16),
    MTLLanguageVersion3_1 = (3 << 16) + 1, MTLLanguageVersion3_2 = (3 << 16) + 2, MTLLanguageVersion4_0 = (4 << 16),
};
typedef NS_ENUM(NSInteger, MTLMathMode) { MTLMathModeSafe, MTLMathModeRelaxed, MTLMathModeFast };
typedef NS_ENUM(NSUInteger, MTLDataType) {
    MTLDataTypeNone = 0, MTLDataTypeFloat = 3, MTLDataTypeFloat2, MTLDataTypeFloat3, MTLDataTypeFloat4,
    MTLDataTypeHalf = 16, MTLDataTypeInt = 29, MTLDataTypeInt2, MTLDataTypeInt3, MTLDataTypeInt4,
    MTLDataTypeUInt = 33, MTLDataTypeShort = 37, MTLDataTypeUShort = 41, MTLDataTypeChar = 45, MTLDataTypeUChar = 49,
    MTLDataTypeBool = 53, MTLDataTypeLong = 81, MTLDataTypeULong = 85,
};
typedef NS_ENUM(NSInteger, MTLCaptureDestination) {
    MTLCaptureDestinationDeveloperTools = 1, MTLCaptureDestinationGPUTraceDocument = 2,
};
typedef NS_ENUM(NSUInteger, MTLDeviceLocation) {
    MTLDeviceLocationBuiltIn, MTLDeviceLocationSlot, MTLDeviceLocationExternal,
};

@protocol MTLDevice, MTLCommandQueue, MTLCommandBuffer, MTLComputeCommandEncoder, MTLBlitCommandEncoder, MTLLibrary, MTLFunction;
@protocol MTLComputePipelineState, MTLBuffer, MTLHeap, MTLResidencySet, MTLCaptureScope;
typedef void (^MTLCommandBufferHandler)(id<MTLCommandBuffer>);

@protocol MTLAllocation <NSObject>
@property(readonly) NSUInteger allocatedSize;
@end
@protocol MTLResource <MTLAllocation>
@property(copy, atomic) NSString* label;
@property(readonly) id<MTLDevice> device;
@property(readonly) MTLStorageMode storageMode;
@end
@protocol MTLBuffer <MTLResource>
@property(readonly) NSUInteger length;
@property(readonly) uint64_t gpuAddress;
- (void*)contents;
- (void)didModifyRange:(NSRange)range;
@end
@protocol MTLEvent <NSObject>
@property(copy, atomic) NSString* label;
@end
@protocol MTLSharedEvent <MTLEvent>
@property(readwrite) uint64_t signaledValue;
- (BOOL)waitUntilSignaledValue:(uint64_t)value timeoutMS:(uint64_t)milliseconds;
@end
@protocol MTLFence <NSObject>
@property(copy, atomic) NSString* label;
@end

@interface MTLCompileOptions : NSObject <NSCopying>
@property(readwrite, copy) NSDictionary* preprocessorMacros;
@property(readwrite) BOOL fastMathEnabled;
@property(readwrite) MTLMathMode mathMode;
@property(readwrite) MTLLanguageVersion languageVersion;
@end
@interface MTLFunctionConstantValues : NSObject <NSCopying>
- (void)setConstantValue:(const void*)value type:(MTLDataType)type atIndex:(NSUInteger)index;
- (void)setConstantValue:(const void*)value type:(MTLDataType)type withName:(NSString*)name;
- (void)setConstantValues:(const void*)values type:(MTLDataType)type withRange:(NSRange)range;
- (void)reset;
@end
@interface MTLComputePipelineDescriptor : NSObject <NSCopying>
@property(copy) NSString* label;
@property(readwrite, retain) id<MTLFunction> computeFunction;
@property(readwrite) BOOL threadGroupSizeIsMultipleOfThreadExecutionWidth;
@property(readwrite) NSUInteger maxTotalThreadsPerThreadgroup;
@end
@interface MTLResidencySetDescriptor : NSObject <NSCopying>
@property(copy) NSString* label;
@property(readwrite) NSUInteger initialCapacity;
@end
@interface MTLCaptureDescriptor : NSObject <NSCopying>
@property(readwrite, retain) id captureObject;
@property(readwrite) MTLCaptureDestination destination;
@property(readwrite, copy) NSURL* outputURL;
@end
@interface MTLCaptureManager : NSObject
@property(readonly) BOOL isCapturing;
+ (MTLCaptureManager*)sharedCaptureManager;
- (id<MTLCaptureScope>)newCaptureScopeWithDevice:(id<MTLDevice>)device;
- (BOOL)startCaptureWithDescriptor:(MTLCaptureDescriptor*)descriptor error:(NSError**)error;
- (void)stopCapture;
@end
@protocol MTLCaptureScope <NSObject>
@property(copy, atomic) NSString* label;
- (void)beginScope;
- (void)endScope;
@end

@interface MTLArgumentDescriptor : NSObject
+ (instancetype)argumentDescriptor;
@property NSUInteger dataType;
@property NSUInteger index;
@property NSUInteger arrayLength;
@end

@protocol MTLArgumentEncoder <NSObject>
@property(readonly) NSUInteger encodedLength;
@property(readonly) NSUInteger alignment;
- (void)setArgumentBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset;
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void*)constantDataAtIndex:(NSUInteger)index;
@end

@protocol MTLFunction <NSObject>
@property(readonly) NSString* name;
- (id<MTLArgumentEncoder>)newArgumentEncoderWithBufferIndex:(NSUInteger)index;
@end
@protocol MTLLibrary <NSObject>
@property(copy, atomic) NSString* label;
@property(readonly) NSArray<NSString*>* functionNames;
- (id<MTLFunction>)newFunctionWithName:(NSString*)name;
- (id<MTLFunction>)newFunctionWithName:(NSString*)name constantValues:(MTLFunctionConstantValues*)values error:(NSError**)error;
@end
@protocol MTLComputePipelineState <NSObject>
@property(readonly) NSString* label;
@property(readonly) NSUInteger maxTotalThreadsPerThreadgroup;
@property(readonly) NSUInteger threadExecutionWidth;
@property(readonly) NSUInteger staticThreadgroupMemoryLength;
@end
@protocol MTLResidencySet <MTLAllocation>
@property(readonly) NSString* label;
@property(readonly) NSUInteger allocationCount;
- (void)addAllocation:(id<MTLAllocation>)allocation;
- (void)removeAllocation:(id<MTLAllocation>)allocation;
- (void)removeAllAllocations;
- (void)requestResidency;
- (void)endResidency;
- (void)commit;
@end

@protocol MTLCommandEncoder <NSObject>
@property(copy, atomic) NSString* label;
- (void)endEncoding;
- (void)pushDebugGroup:(NSString*)name;
- (void)popDebugGroup;
- (void)insertDebugSignpost:(NSString*)name;
@end
@protocol MTLComputeCommandEncoder <MTLCommandEncoder>
- (void)setComputePipelineState:(id<MTLComputePipelineState>)state;
- (void)setBytes:(const void*)bytes length:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)setBuffer:(id<MTLBuffer>)buffer offset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setBufferOffset:(NSUInteger)offset atIndex:(NSUInteger)index;
- (void)setThreadgroupMemoryLength:(NSUInteger)length atIndex:(NSUInteger)index;
- (void)dispatchThreadgroups:(MTLSize)groups threadsPerThreadgroup:(MTLSize)threads;
- (void)dispatchThreads:(MTLSize)grid threadsPerThreadgroup:(MTLSize)threads;
- (void)memoryBarrierWithScope:(MTLBarrierScope)scope;
- (void)updateFence:(id<MTLFence>)fence;
- (void)waitForFence:(id<MTLFence>)fence;
- (void)useResource:(id<MTLResource>)resource usage:(MTLResourceUsage)usage;
@end
@protocol MTLBlitCommandEncoder <MTLCommandEncoder>
- (void)copyFromBuffer:(id<MTLBuffer>)from
          sourceOffset:(NSUInteger)start
              toBuffer:(id<MTLBuffer>)to
     destinationOffset:(NSUInteger)place
                  size:(NSUInteger)size;
- (void)fillBuffer:(id<MTLBuffer>)buffer range:(NSRange)range value:(uint8_t)value;
- (void)synchronizeResource:(id<MTLResource>)resource;
- (void)updateFence:(id<MTLFence>)fence;
- (void)waitForFence:(id<MTLFence>)fence;
@end
@protocol MTLCommandBuffer <NSObject>
@property(copy, atomic) NSString* label;
@property(readonly) MTLCommandBufferStatus status;
@property(readonly) NSError* error;
@property(readonly) NSTimeInterval GPUStartTime;
@property(readonly) NSTimeInterval GPUEndTime;
- (void)enqueue;
- (void)commit;
- (void)waitUntilScheduled;
- (void)waitUntilCompleted;
- (void)addScheduledHandler:(MTLCommandBufferHandler)handler;
- (void)addCompletedHandler:(MTLCommandBufferHandler)handler;
- (id<MTLComputeCommandEncoder>)computeCommandEncoder;
- (id<MTLComputeCommandEncoder>)computeCommandEncoderWithDispatchType:(MTLDispatchType)type;
- (id<MTLBlitCommandEncoder>)blitCommandEncoder;
- (void)encodeWaitForEvent:(id<MTLEvent>)event value:(uint64_t)value;
- (void)encodeSignalEvent:(id<MTLEvent>)event value:(uint64_t)value;
- (void)useResidencySet:(id<MTLResidencySet>)set;
@end
@protocol MTLCommandQueue <NSObject>
@property(copy, atomic) NSString* label;
@property(readonly) id<MTLDevice> device;
- (id<MTLCommandBuffer>)commandBuffer;
- (id<MTLCommandBuffer>)commandBufferWithUnretainedReferences;
- (void)addResidencySet:(id<MTLResidencySet>)set;
- (void)removeResidencySet:(id<MTLResidencySet>)set;
@end
@protocol MTLDevice <NSObject>
@property(readonly) NSString* name;
@property(readonly) uint64_t registryID;
@property(readonly) MTLSize maxThreadsPerThreadgroup;
@property(readonly) NSUInteger maxThreadgroupMemoryLength;
@property(readonly) NSUInteger maxBufferLength;
@property(readonly) NSUInteger currentAllocatedSize;
@property(readonly) uint64_t recommendedMaxWorkingSetSize;
@property(readonly) BOOL hasUnifiedMemory;
- (BOOL)supportsFamily:(MTLGPUFamily)family;
- (id<MTLCommandQueue>)newCommandQueue;
- (id<MTLCommandQueue>)newCommandQueueWithMaxCommandBufferCount:(NSUInteger)count;
- (id<MTLBuffer>)newBufferWithLength:(NSUInteger)length options:(MTLResourceOptions)options;
- (id<MTLBuffer>)newBufferWithBytes:(const void*)bytes length:(NSUInteger)length options:(MTLResourceOptions)options;
- (id<MTLBuffer>)newBufferWithBytesNoCopy:(void*)start
                                   length:(NSUInteger)length
                                  options:(MTLResourceOptions)options
                              deallocator:(void (^)(void* start, NSUInteger length))deallocator;
- (id<MTLLibrary>)newDefaultLibrary;
- (id<MTLLibrary>)newLibraryWithURL:(NSURL*)url error:(NSError**)error;
- (id<MTLLibrary>)newLibraryWithSource:(NSString*)source options:(MTLCompileOptions*)options error:(NSError**)error;
- (id<MTLComputePipelineState>)newComputePipelineStateWithFunction:(id<MTLFunction>)function error:(NSError**)error;
- (id<MTLArgumentEncoder>)newArgumentEncoderWithArguments:(NSArray*)arguments;
- (id<MTLEvent>)newEvent;
- (id<MTLSharedEvent>)newSharedEvent;
- (id<MTLFence>)newFence;
- (id<MTLResidencySet>)newResidencySetWithDescriptor:(MTLResidencySetDescriptor*)descriptor error:(NSError**)error;
@end

id<MTLDevice> MTLCreateSystemDefaultDevice(void);
NSArray<id<MTLDevice>>* MTLCopyAllDevices(void);
