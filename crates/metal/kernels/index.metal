// What gathering and scattering share: coordinates of a point, and indices that may count from the end.
//
// dims: [0] points, [1] rank, [2] axis, [3] extent of the indexed axis, [4 …] the extents of the points' space.

// The position in a layout with these strides of a point whose coordinate along the axis is `along`; the first coordinate along
// the axis is what `own` receives.
inline index_t indexed_position(constant Args& args, constant index_t* strides, index_t point, index_t along) {
    index_t position = along * strides[args.dims[2]];
    index_t rest = point;
    for (index_t axis = args.dims[1]; axis > 0; --axis) {
        const index_t extent = args.dims[4 + axis - 1];
        const index_t at = rest % extent;
        rest = rest / extent;
        position += axis - 1 == args.dims[2] ? index_t(0) : at * strides[axis - 1];
    }
    return position;
}

// A coordinate from an index. One out of range is a fault, and reads or writes coordinate 0: the result is thrown away.
inline index_t resolve(const thread Env& env, long index, index_t extent) {
    const long resolved = index < 0 ? index + long(extent) : index;
    if (resolved < 0 || resolved >= long(extent)) {
        raise(FAULTS, INDEX_OUT_OF_RANGE);
        return 0;
    }
    return index_t(resolved);
}
