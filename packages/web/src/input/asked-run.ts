import type { RunAgentInput } from '@ag-ui/core'
import type { IntakeSteps, RefusalPlace } from '@postern/core'
import type { WebOwner } from '../identity/speaker.ts'

/** A run as the client asked for it, before the gateway stores anything. */
export interface AskedRun {
  readonly owner: WebOwner
  readonly agent: string
  readonly input: RunAgentInput
  readonly document: unknown
  /** The checks so far. */
  readonly steps: IntakeSteps
  readonly place: RefusalPlace
}

/** The run's id is taken. No run is started twice. */
export class RunRepeated extends Error {
  override readonly name = 'RunRepeated'
}
