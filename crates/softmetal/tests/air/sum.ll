; Sums the elements of each threadgroup in threadgroup memory and adds `extra` where a function constant asks for it. Written by hand in the
; form that Apple's compiler gives its output.
target triple = "air64_v27-apple-macosx15.0.0"

@partial = internal addrspace(3) global [64 x float] undef, align 4
@count = internal addrspace(3) global [1 x i32] zeroinitializer, align 4
@biased.MTL_FC_INIT_5_b = internal addrspace(2) externally_initialized constant i8 undef, section "air.fc_initializer", align 1
@biased = internal addrspace(2) global i8 undef, align 1
@present = internal addrspace(2) global i8 0, align 1
@llvm.global_ctors = appending global [1 x { i32, ptr, ptr }] [{ i32, ptr, ptr } { i32 65535, ptr @initialise, ptr null }]

declare i8 @air.normalize_function_constant_predicate.i8(i8)
declare void @air.wg.barrier(i32, i32)
declare float @air.simd_sum.f32(float)
declare i32 @air.atomic.local.add.u.i32(ptr addrspace(3), i32, i32, i32, i1)

define internal void @initialise() section "air.static_init" {
  %1 = load i8, ptr addrspace(2) @biased.MTL_FC_INIT_5_b, align 1
  store i8 %1, ptr addrspace(2) @biased, align 1
  %2 = call i8 @air.normalize_function_constant_predicate.i8(i8 %1)
  store i8 %2, ptr addrspace(2) @present, align 1
  ret void
}

define void @sum(ptr addrspace(1) %0, ptr addrspace(1) %1, ptr addrspace(2) %2, i32 %3, i32 %4, i32 %5) #0 {
  %7 = zext i32 %4 to i64
  %8 = getelementptr inbounds float, ptr addrspace(1) %0, i64 %7
  %9 = load float, ptr addrspace(1) %8, align 4
  %10 = call float @air.simd_sum.f32(float %9)
  %11 = zext i32 %3 to i64
  %12 = getelementptr inbounds [64 x float], ptr addrspace(3) @partial, i64 0, i64 %11
  store float %10, ptr addrspace(3) %12, align 4
  %13 = call i32 @air.atomic.local.add.u.i32(ptr addrspace(3) @count, i32 1, i32 0, i32 1, i1 true)
  call void @air.wg.barrier(i32 2, i32 1)
  %14 = icmp eq i32 %3, 0
  br i1 %14, label %15, label %30

15:
  %16 = load float, ptr addrspace(3) @partial, align 4
  %17 = load float, ptr addrspace(3) getelementptr inbounds ([64 x float], ptr addrspace(3) @partial, i64 0, i64 32), align 4
  %18 = fadd float %16, %17
  %19 = load i32, ptr addrspace(3) @count, align 4
  %20 = uitofp i32 %19 to float
  %21 = fdiv float %18, %20
  %22 = load i8, ptr addrspace(2) @biased, align 1
  %23 = icmp eq i8 %22, 0
  br i1 %23, label %27, label %24

24:
  %25 = load float, ptr addrspace(2) %2, align 4
  %26 = fadd float %21, %25
  br label %27

27:
  %28 = phi float [ %21, %15 ], [ %26, %24 ]
  %29 = zext i32 %5 to i64
  %x = getelementptr inbounds float, ptr addrspace(1) %1, i64 %29
  store float %28, ptr addrspace(1) %x, align 4
  br label %30

30:
  ret void
}

attributes #0 = { convergent nounwind }

!air.compile_options = !{!0, !1}
!air.kernel = !{!2}
!air.function_constants = !{!12}
!0 = !{!"air.compile.denorms_disable"}
!1 = !{!"air.compile.fast_math_disable"}
!2 = !{ptr @sum, !3, !4, !11}
!3 = !{}
!4 = !{!5, !6, !7, !8, !9, !10}
!5 = !{i32 0, !"air.buffer", !"air.location_index", i32 0, i32 1, !"air.read", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"in"}
!6 = !{i32 1, !"air.buffer", !"air.location_index", i32 1, i32 1, !"air.read_write", !"air.address_space", i32 1, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"out"}
!7 = !{i32 2, !"air.function_constant", !13, !"air.buffer", !"air.location_index", i32 7, i32 1, !"air.read", !"air.address_space", i32 2, !"air.arg_type_size", i32 4, !"air.arg_type_align_size", i32 4, !"air.arg_type_name", !"float", !"air.arg_name", !"extra"}
!8 = !{i32 3, !"air.thread_index_in_threadgroup", !"air.arg_type_name", !"uint", !"air.arg_name", !"lane"}
!9 = !{i32 4, !"air.thread_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"at"}
!10 = !{i32 5, !"air.threadgroup_position_in_grid", !"air.arg_type_name", !"uint", !"air.arg_name", !"group"}
!11 = !{!"air.max_work_group_size", i32 64}
!12 = !{ptr addrspace(2) @biased.MTL_FC_INIT_5_b, !"bool", !"biased", i32 5, i1 true}
!13 = !{ptr addrspace(2) @present, !"bool", !"biased"}
