// Arguments of indirect commands, as the host lays them out. Both passes read this file.
#pragma once
struct MTLDrawPrimitivesIndirectArguments { uint32_t vertexCount, instanceCount, vertexStart, baseInstance; };
struct MTLDrawIndexedPrimitivesIndirectArguments { uint32_t indexCount, instanceCount, indexStart; int32_t baseVertex; uint32_t baseInstance; };
struct MTLDrawPatchIndirectArguments { uint32_t patchCount, instanceCount, patchStart, baseInstance; };
struct MTLDispatchThreadgroupsIndirectArguments { uint32_t threadgroupsPerGrid[3]; };
struct MTLDispatchThreadsIndirectArguments { uint32_t threadsPerGrid[3], threadsPerThreadgroup[3]; };
struct MTLStageInRegionIndirectArguments { uint32_t stageInOrigin[3], stageInSize[3]; };
