// Named by Metal's headers; surfaces are not there.
#pragma once
typedef struct __IOSurface* IOSurfaceRef;
