// The part of Foundation that crates/metalhost has, for Objective-C that clang compiles for Apple's runtime on Linux.
#pragma once
#include <Block.h>
#include <TargetConditionals.h>
#include <dispatch/dispatch.h>
#include <inttypes.h>
#include <mach/mach.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define nil ((void*)0)
#define Nil ((void*)0)
#define YES ((BOOL)1)
#define NO ((BOOL)0)
#define NS_ENUM(type, name) enum name : type name; enum name : type
#define NS_OPTIONS(type, name) enum name : type name; enum name : type
#define NS_ASSUME_NONNULL_BEGIN _Pragma("clang assume_nonnull begin")
#define NS_ASSUME_NONNULL_END _Pragma("clang assume_nonnull end")

typedef bool BOOL;
typedef long NSInteger;
typedef unsigned long NSUInteger;
typedef double NSTimeInterval;
typedef NSUInteger NSStringEncoding;
typedef struct { NSUInteger location, length; } NSRange;
typedef struct { unsigned long state; id __unsafe_unretained* itemsPtr; unsigned long* mutationsPtr; unsigned long extra[5]; } NSFastEnumerationState;
typedef struct _NSZone NSZone;
enum { NSASCIIStringEncoding = 1, NSUTF8StringEncoding = 4 };
enum { NSOrderedAscending = -1, NSOrderedSame = 0, NSOrderedDescending = 1 };
#define NSNotFound ((NSInteger)0x7fffffffffffffff)

static inline NSRange NSMakeRange(NSUInteger location, NSUInteger length) { return (NSRange){location, length}; }

@class NSArray<T>, NSDictionary<K, V>, NSSet<T>, NSString, NSError, NSURL;

@protocol NSObject
- (Class)class;
- (BOOL)isEqual:(id)other;
- (NSUInteger)hash;
- (BOOL)isKindOfClass:(Class)kind;
- (BOOL)respondsToSelector:(SEL)selector;
- (BOOL)conformsToProtocol:(Protocol*)protocol;
- (instancetype)retain;
- (oneway void)release;
- (instancetype)autorelease;
- (NSUInteger)retainCount;
@property(readonly, copy) NSString* description;
@end
@protocol NSCopying
@end
@protocol NSLocking
- (void)lock;
- (void)unlock;
@end

__attribute__((objc_root_class)) @interface NSObject <NSObject> {
    Class isa;
}
+ (instancetype)alloc;
+ (instancetype)new;
+ (Class)class;
- (instancetype)init;
- (void)dealloc;
- (id)copy;
@end

@interface NSString : NSObject <NSCopying>
@property(readonly) NSUInteger length;
@property(readonly) const char* UTF8String;
@property(readonly) int intValue;
@property(readonly) NSInteger integerValue;
@property(readonly) float floatValue;
@property(readonly) double doubleValue;
@property(readonly, copy) NSString* stringByDeletingLastPathComponent;
@property(readonly, copy) NSString* stringByStandardizingPath;
@property(readonly, copy) NSString* lastPathComponent;
+ (instancetype)string;
+ (instancetype)stringWithUTF8String:(const char*)text;
+ (instancetype)stringWithCString:(const char*)text encoding:(NSStringEncoding)encoding;
+ (instancetype)stringWithString:(NSString*)other;
+ (instancetype)stringWithFormat:(NSString*)format, ...;
+ (instancetype)stringWithContentsOfFile:(NSString*)path encoding:(NSStringEncoding)encoding error:(NSError**)error;
+ (NSString*)pathWithComponents:(NSArray*)parts;
- (instancetype)initWithBytes:(const void*)bytes length:(NSUInteger)length encoding:(NSStringEncoding)encoding;
- (instancetype)initWithUTF8String:(const char*)text;
- (BOOL)isEqualToString:(NSString*)other;
- (BOOL)hasPrefix:(NSString*)part;
- (BOOL)hasSuffix:(NSString*)part;
- (BOOL)containsString:(NSString*)part;
- (unsigned short)characterAtIndex:(NSUInteger)index;
- (NSRange)rangeOfString:(NSString*)part;
- (NSString*)stringByAppendingString:(NSString*)more;
- (NSString*)stringByAppendingPathComponent:(NSString*)part;
- (NSString*)stringByAppendingPathExtension:(NSString*)part;
- (NSString*)stringByReplacingOccurrencesOfString:(NSString*)old withString:(NSString*)new;
- (NSString*)stringByTrimmingCharactersInSet:(id)set;
- (NSString*)substringWithRange:(NSRange)range;
- (NSString*)substringFromIndex:(NSUInteger)index;
- (NSString*)substringToIndex:(NSUInteger)index;
- (NSArray*)componentsSeparatedByString:(NSString*)separator;
@end
@interface NSMutableString : NSString
- (void)appendString:(NSString*)more;
- (void)appendFormat:(NSString*)format, ...;
@end
@interface NSCharacterSet : NSObject
+ (NSCharacterSet*)whitespaceCharacterSet;
+ (NSCharacterSet*)whitespaceAndNewlineCharacterSet;
@end

@interface NSScanner : NSObject
@property(copy) NSCharacterSet* charactersToBeSkipped;
@property(readonly, getter=isAtEnd) BOOL atEnd;
+ (NSScanner*)scannerWithString:(NSString*)text;
- (BOOL)scanString:(NSString*)wanted intoString:(NSString**)result;
- (BOOL)scanUpToString:(NSString*)end intoString:(NSString**)result;
@end

@protocol NSFastEnumeration
- (NSUInteger)countByEnumeratingWithState:(NSFastEnumerationState*)state
                                  objects:(id __unsafe_unretained[])room
                                    count:(NSUInteger)count;
@end
@interface NSArray<T> : NSObject <NSFastEnumeration, NSCopying>
@property(readonly) NSUInteger count;
@property(readonly) T firstObject;
@property(readonly) T lastObject;
+ (instancetype)array;
+ (instancetype)arrayWithObject:(id)item;
+ (instancetype)arrayWithObjects:(const id[])items count:(NSUInteger)count;
+ (instancetype)arrayWithArray:(NSArray*)other;
- (T)objectAtIndex:(NSUInteger)index;
- (T)objectAtIndexedSubscript:(NSUInteger)index;
- (BOOL)containsObject:(T)item;
- (void)getObjects:(T[])objects;
- (void)getObjects:(T[])objects range:(NSRange)range;
@end
@interface NSMutableArray<T> : NSArray
+ (instancetype)arrayWithCapacity:(NSUInteger)capacity;
- (T)objectAtIndexedSubscript:(NSUInteger)index;
- (void)addObject:(T)item;
- (void)addObjectsFromArray:(NSArray*)other;
- (void)insertObject:(T)item atIndex:(NSUInteger)index;
- (void)removeObject:(T)item;
- (void)removeObjectAtIndex:(NSUInteger)index;
- (void)removeLastObject;
- (void)removeAllObjects;
- (void)setObject:(T)item atIndexedSubscript:(NSUInteger)index;
@end
@interface NSSet<T> : NSObject <NSFastEnumeration, NSCopying>
@property(readonly) NSUInteger count;
@property(readonly, copy) NSArray* allObjects;
+ (instancetype)set;
+ (instancetype)setWithArray:(NSArray*)items;
- (BOOL)containsObject:(T)item;
@end
@interface NSMutableSet<T> : NSSet
- (void)addObject:(T)item;
- (void)removeObject:(T)item;
@end
@interface NSDictionary<K, V> : NSObject <NSFastEnumeration, NSCopying>
@property(readonly) NSUInteger count;
@property(readonly, copy) NSArray* allKeys;
@property(readonly, copy) NSArray* allValues;
+ (instancetype)dictionary;
+ (instancetype)dictionaryWithObjects:(const id[])values forKeys:(const id[])keys count:(NSUInteger)count;
- (V)objectForKey:(K)key;
- (V)objectForKeyedSubscript:(K)key;
@end
@interface NSMutableDictionary<K, V> : NSDictionary
+ (instancetype)dictionaryWithCapacity:(NSUInteger)capacity;
- (void)setObject:(V)value forKey:(K)key;
- (void)setObject:(V)value forKeyedSubscript:(K)key;
- (void)removeObjectForKey:(K)key;
- (void)removeAllObjects;
@end

@interface NSValue : NSObject <NSCopying>
@end
@interface NSNumber : NSValue
@property(readonly) BOOL boolValue;
@property(readonly) int intValue;
@property(readonly) NSInteger integerValue;
@property(readonly) NSUInteger unsignedIntegerValue;
@property(readonly) unsigned long long unsignedLongLongValue;
@property(readonly) float floatValue;
@property(readonly) double doubleValue;
+ (NSNumber*)numberWithBool:(BOOL)value;
+ (NSNumber*)numberWithInt:(int)value;
+ (NSNumber*)numberWithUnsignedInt:(unsigned)value;
+ (NSNumber*)numberWithLong:(long)value;
+ (NSNumber*)numberWithUnsignedLong:(unsigned long)value;
+ (NSNumber*)numberWithLongLong:(long long)value;
+ (NSNumber*)numberWithInteger:(NSInteger)value;
+ (NSNumber*)numberWithUnsignedInteger:(NSUInteger)value;
+ (NSNumber*)numberWithFloat:(float)value;
+ (NSNumber*)numberWithDouble:(double)value;
@end
@interface NSError : NSObject <NSCopying>
@property(readonly) NSInteger code;
@property(readonly, copy) NSString* domain;
@property(readonly, copy) NSString* localizedDescription;
@property(readonly, copy) NSDictionary* userInfo;
+ (instancetype)errorWithDomain:(NSString*)domain code:(NSInteger)code userInfo:(NSDictionary*)info;
@end
@interface NSURL : NSObject <NSCopying>
@property(readonly, copy) NSString* path;
@property(readonly, copy) NSString* absoluteString;
+ (NSURL*)fileURLWithPath:(NSString*)path;
+ (NSURL*)URLWithString:(NSString*)text;
@end
@interface NSData : NSObject <NSCopying>
@property(readonly) const void* bytes;
@property(readonly) NSUInteger length;
+ (instancetype)dataWithBytes:(const void*)bytes length:(NSUInteger)length;
+ (instancetype)dataWithContentsOfFile:(NSString*)path;
@end
@interface NSLock : NSObject <NSLocking>
- (BOOL)tryLock;
@end
@interface NSAutoreleasePool : NSObject
- (void)drain;
@end
@interface NSBundle : NSObject
@property(readonly, copy) NSString* bundlePath;
@property(readonly, copy) NSString* resourcePath;
+ (NSBundle*)mainBundle;
+ (NSBundle*)bundleForClass:(Class)owner;
- (NSString*)pathForResource:(NSString*)name ofType:(NSString*)kind;
@end
@interface NSProcessInfo : NSObject
@property(readonly, copy) NSDictionary<NSString*, NSString*>* environment;
@property(readonly, copy) NSArray<NSString*>* arguments;
@property(readonly, copy) NSString* processName;
@property(readonly) NSUInteger processorCount;
@property(readonly) NSUInteger activeProcessorCount;
@property(readonly) unsigned long long physicalMemory;
+ (NSProcessInfo*)processInfo;
@end
@interface NSFileManager : NSObject
+ (NSFileManager*)defaultManager;
- (BOOL)fileExistsAtPath:(NSString*)path;
- (BOOL)isReadableFileAtPath:(NSString*)path;
- (NSDictionary*)attributesOfItemAtPath:(NSString*)path error:(NSError**)error;
- (NSString*)destinationOfSymbolicLinkAtPath:(NSString*)path error:(NSError**)error;
@end

extern NSString* const NSLocalizedDescriptionKey;
extern NSString* const NSFileType;
extern NSString* const NSFileTypeSymbolicLink;
void NSLog(NSString* format, ...);
