//! Dtypes, shapes, layouts, the op table, the lazy graph and the reference evaluator of Wootz.
