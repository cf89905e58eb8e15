// Messages: cast the function to the type of the method.
#pragma once
#include <objc/runtime.h>

#ifdef __cplusplus
extern "C" {
#endif
struct objc_super {
    id receiver;
    Class super_class;
};
#define OBJC_OLD_DISPATCH_PROTOTYPES 0
void objc_msgSend(void);
void objc_msgSend_stret(void);
void objc_msgSend_fpret(void);
void objc_msgSendSuper2(void);
#ifdef __cplusplus
}
#endif
