//! Turns a Wootz graph into an executable plan: fusion, memory placement, caching. Pure; knows no device.
