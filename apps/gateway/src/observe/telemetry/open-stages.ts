// Opens the recorders of stages: the histograms, and the trace collector if one is configured.
import type { Config } from '../../config/schema.ts'
import type { Telemetry } from './open-telemetry.ts'
import { openTelemetry } from './open-telemetry.ts'
import type { StageListener } from './stage.ts'
import type { StageMeter } from './stage-meter.ts'
import { createStageMeter } from './stage-meter.ts'

interface StageListeners {
  readonly onStage: StageListener
  readonly meter: StageMeter
  /** Absent if the gateway writes no traces. */
  readonly telemetry: Telemetry | undefined
}

/** Opens the histograms, and the collector if the configuration names one. @throws ConfigError if a library of the collector is not installed */
export async function openStages(config: Config['telemetry']): Promise<StageListeners> {
  const meter = createStageMeter()
  const telemetry = await openTelemetry(config)
  return {
    meter,
    telemetry,
    onStage(stage) {
      meter.count(stage)
      telemetry?.send(stage)
    },
  }
}
