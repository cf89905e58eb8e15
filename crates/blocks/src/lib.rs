//! Block-quantised number formats: layout, dequantise, quantise and dot product, one definition each.
