// What a program asks about its target. Linux stands for a Mac with Apple's processor, whose GPU SoftMetal imitates.
#pragma once
#define TARGET_OS_MAC 1
#define TARGET_OS_OSX 1
#define TARGET_OS_IPHONE 0
#define TARGET_OS_IOS 0
#define TARGET_OS_TV 0
#define TARGET_OS_WATCH 0
#define TARGET_OS_VISION 0
#define TARGET_OS_SIMULATOR 0
#define TARGET_CPU_ARM64 1
#define TARGET_CPU_X86_64 0
#define __MAC_OS_X_VERSION_MAX_ALLOWED 150000
#define __MAC_OS_X_VERSION_MIN_REQUIRED 140000
