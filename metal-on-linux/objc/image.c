// Registers the Objective-C of the program that it is linked into, before main. clang for Apple's runtime puts references into these
// sections; an ELF linker bounds each by two symbols, if it is there.
#define SECTION(name)                                                                                        \
    extern void* __start_##name[] __attribute__((weak, visibility("hidden")));                              \
    extern void* __stop_##name[] __attribute__((weak, visibility("hidden")));

SECTION(objc_selrefs)
SECTION(objc_classlist)
SECTION(objc_catlist)

struct bounds {
    void **selectors[2], **classes[2], **categories[2];
};

void metalhost_register_image(const struct bounds*);

__attribute__((constructor)) static void register_image(void) {
    const struct bounds all = {
        {__start_objc_selrefs, __stop_objc_selrefs},
        {__start_objc_classlist, __stop_objc_classlist},
        {__start_objc_catlist, __stop_objc_catlist},
    };
    metalhost_register_image(&all);
}
