//! The MPI functions that are used, with the signatures for one kind of handle.

use std::ffi::{c_char, c_int, c_void};

/// Turns the list of functions into a struct of pointers, and a function that fills it.
macro_rules! functions {
    ($($field:ident $symbol:literal ($($argument:ty),*);)*) => {
        /// The functions of a library whose handles are `H`.
        pub struct Functions<H> {
            $(pub $field: unsafe extern "C" fn($($argument),*) -> c_int,)*
        }

        impl<H> Functions<H> {
            /// The functions that `symbol` finds by name.
            ///
            /// # Safety
            /// The addresses must be those of an MPI library whose handles are `H`, which stays loaded.
            pub unsafe fn load<E>(symbol: impl Fn(&str) -> Result<*const c_void, E>) -> Result<Functions<H>, E> {
                Ok(Functions {
                    $($field: {
                        let address = symbol($symbol)?;
                        // SAFETY: the caller says that this is the function of that name, and its type is MPI's.
                        unsafe {
                            std::mem::transmute::<*const c_void, unsafe extern "C" fn($($argument),*) -> c_int>(address)
                        }
                    },)*
                })
            }
        }
    };
}

/// What a library calls to combine two vectors: from, into, how many, of what.
pub type UserFunction = unsafe extern "C" fn(*mut c_void, *mut c_void, *mut c_int, *mut c_void);

functions! {
    initialized "MPI_Initialized" (*mut c_int);
    init_thread "MPI_Init_thread" (*mut c_int, *mut *mut *mut c_char, c_int, *mut c_int);
    query_thread "MPI_Query_thread" (*mut c_int);
    finalized "MPI_Finalized" (*mut c_int);
    finalize "MPI_Finalize" ();
    error_string "MPI_Error_string" (c_int, *mut c_char, *mut c_int);
    comm_rank "MPI_Comm_rank" (H, *mut c_int);
    comm_size "MPI_Comm_size" (H, *mut c_int);
    comm_split "MPI_Comm_split" (H, c_int, c_int, *mut H);
    comm_set_errhandler "MPI_Comm_set_errhandler" (H, H);
    op_create "MPI_Op_create" (UserFunction, c_int, *mut H);
    isend "MPI_Isend" (*const c_void, c_int, H, c_int, c_int, H, *mut H);
    irecv "MPI_Irecv" (*mut c_void, c_int, H, c_int, c_int, H, *mut H);
    iprobe "MPI_Iprobe" (c_int, c_int, H, *mut c_int, *mut c_void);
    test "MPI_Test" (*mut H, *mut c_int, *mut c_void);
    iallreduce "MPI_Iallreduce" (*const c_void, *mut c_void, c_int, H, H, H, *mut H);
    iallgather "MPI_Iallgather" (*const c_void, c_int, H, *mut c_void, c_int, H, H, *mut H);
    ireduce_scatter_block "MPI_Ireduce_scatter_block" (*const c_void, *mut c_void, c_int, H, H, H, *mut H);
    ibcast "MPI_Ibcast" (*mut c_void, c_int, H, c_int, H, *mut H);
}
