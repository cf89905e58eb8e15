; Multiplies by a half; INTRINSIC and PARAMETER are replaced by tests. Written by hand.
target triple = "air64_v27-apple-macosx15.0.0"

declare float @air.INTRINSIC.f32(float)

define void @scale(ptr addrspace(1) %0, i32 %1) {
  %3 = zext i32 %1 to i64
  %4 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %3
  %5 = load float, ptr addrspace(1) %4, align 4
  %6 = call float @air.INTRINSIC.f32(float %5)
  %7 = fmul float %6, 5.000000e-01
  store float %7, ptr addrspace(1) %4, align 4
  ret void
}

!air.compile_options = !{!0}
!air.kernel = !{!1}
!0 = !{!"air.compile.OPTION"}
!1 = !{ptr @scale, !2, !3}
!2 = !{}
!3 = !{!4, !5}
!4 = !{i32 0, !"air.PARAMETER", !"air.location_index", i32 0, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"values"}
!5 = !{i32 1, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"at"}
