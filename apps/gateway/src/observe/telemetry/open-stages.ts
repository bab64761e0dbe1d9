import { softwareVersion } from '../../platform/version.ts'
import type { StageListener } from '../stages/stage.ts'
import type { StageMeter } from '../stages/stage-meter.ts'
import { createStageMeter } from '../stages/stage-meter.ts'
import type { Telemetry, TelemetryConfig } from './open-telemetry.ts'
import { openTelemetry } from './open-telemetry.ts'

interface Stages {
  readonly onStage: StageListener
  readonly meter: StageMeter
  /** Absent where nothing is traced. */
  readonly telemetry: Telemetry | undefined
}

/** Those who are told of each stage: the histograms, and the collector where there is one. @throws ConfigError */
export async function openStages(config: TelemetryConfig): Promise<Stages> {
  const meter = createStageMeter()
  const telemetry = await openTelemetry(config, softwareVersion)
  return {
    meter,
    telemetry,
    onStage(stage) {
      meter.count(stage)
      telemetry?.send(stage)
    },
  }
}
