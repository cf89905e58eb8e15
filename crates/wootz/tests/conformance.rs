//! The CPU against the reference evaluator: the case list, and random graphs fused and unfused.

use std::sync::Arc;
use wootz::check::{Level, bind, check, evaluate};
use wootz::{Backend, Device};
use wootz_backend::{Buffer, DeviceInfo, Executable, Fence, HostMemory, MemoryStats, Run};
use wootz_cpu::CpuBackend;
use wootz_ir::{DType, Result};
use wootz_plan::{Capabilities, Plan};
use wootz_testkit::{compare, random_graph};

#[test]
fn every_case_agrees_with_the_reference() {
    let report = check(&Device::cpu(), Level::Full, |_, _| {});
    let (cases, _, failed, _) = report.totals();
    let failures: Vec<&String> = report.rows.values().flat_map(|row| &row.failures).collect();
    assert_eq!(failed, 0, "{failures:#?}");
    assert!(cases > 10_000, "{cases}");
}

/// The CPU with another planner setting.
struct Planned {
    cpu: CpuBackend,
    capabilities: Capabilities,
}

impl Backend for Planned {
    fn info(&self) -> &DeviceInfo {
        self.cpu.info()
    }
    fn capabilities(&self) -> Capabilities {
        self.capabilities
    }
    fn refuses(&self, dtype: DType) -> Option<&'static str> {
        self.cpu.refuses(dtype)
    }
    fn allocate(&self, bytes: usize) -> Result<Buffer> {
        self.cpu.allocate(bytes)
    }
    fn import(&self, memory: HostMemory) -> Result<Buffer> {
        self.cpu.import(memory)
    }
    fn upload(&self, buffer: &Buffer, offset: usize, bytes: &[u8]) -> Result<()> {
        self.cpu.upload(buffer, offset, bytes)
    }
    fn download(&self, buffer: &Buffer, offset: usize, bytes: &mut [u8]) -> Result<()> {
        self.cpu.download(buffer, offset, bytes)
    }
    fn compile(&self, plan: Arc<Plan>) -> Result<Arc<dyn Executable>> {
        self.cpu.compile(plan)
    }
    fn submit(&self, executable: &Arc<dyn Executable>, run: Run<'_>) -> Result<Fence> {
        self.cpu.submit(executable, run)
    }
    fn memory(&self) -> MemoryStats {
        self.cpu.memory()
    }
    fn trim(&self) {
        self.cpu.trim();
    }
}

fn device(capabilities: Capabilities) -> Device {
    Device::from_backend(Arc::new(Planned { cpu: CpuBackend::new(), capabilities }))
}

#[test]
fn random_graphs_agree_fused_unfused_and_with_the_reference() -> Result<()> {
    let fused = Device::cpu();
    let unfused = device(Capabilities { alignment: 64, ..Capabilities::UNFUSED });
    let cramped = device(Capabilities { alignment: 64, max_loads: 3, max_ops: 5, ..Capabilities::ALL });
    for seed in 0..200 {
        let size = [40, 120, 400][seed as usize % 3];
        let graph = random_graph(seed, size);
        let expected = graph.expected()?;
        for device in [&fused, &unfused, &cramped] {
            let outputs = graph.build(&bind(device, &graph.leaves)?)?;
            let got = evaluate(device, &outputs)?;
            for (i, (want, got)) in expected.iter().zip(&got).enumerate() {
                compare(want, got, &graph.tolerance(want.dtype))
                    .unwrap_or_else(|e| panic!("seed {seed}, output {i}: {e}"));
            }
        }
    }
    Ok(())
}

#[test]
fn a_cached_plan_gives_the_same_bits_as_a_fresh_one() -> Result<()> {
    let device = Device::cpu();
    for seed in 300..320 {
        let graph = random_graph(seed, 150);
        let mut runs = Vec::new();
        for fresh in [true, false, true] {
            if fresh {
                device.trim();
            }
            runs.push(evaluate(&device, &graph.build(&bind(&device, &graph.leaves)?)?)?);
        }
        let bits = |run: &Vec<wootz_ir::reference::HostTensor>| -> Vec<(u8, u64)> {
            run.iter().flat_map(|t| t.data.iter().map(|n| n.bits())).collect()
        };
        assert_eq!(bits(&runs[0]), bits(&runs[1]), "seed {seed}");
        assert_eq!(bits(&runs[0]), bits(&runs[2]), "seed {seed}");
    }
    Ok(())
}
