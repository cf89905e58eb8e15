// The functions of the Objective-C runtime that crates/metalhost has.
#pragma once
#include <stdbool.h>
#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

#ifndef __OBJC__
typedef struct objc_class* Class;
struct objc_object {
    Class isa;
};
typedef struct objc_object* id;
typedef struct objc_selector* SEL;
typedef bool BOOL;
typedef struct objc_object Protocol;
#endif
typedef struct objc_method* Method;
typedef void (*IMP)(void);
struct objc_method_description {
    SEL name;
    char* types;
};

Class objc_lookUpClass(const char* name);
Class objc_getClass(const char* name);
Protocol* objc_getProtocol(const char* name);
Class object_getClass(id object);
const char* object_getClassName(id object);
const char* class_getName(Class class_);
bool class_respondsToSelector(Class class_, SEL selector);
Method class_getInstanceMethod(Class class_, SEL selector);
SEL sel_registerName(const char* name);
const char* sel_getName(SEL selector);
struct objc_method_description protocol_getMethodDescription(Protocol* protocol, SEL selector, bool required, bool instance);

#ifdef __cplusplus
}
#endif
