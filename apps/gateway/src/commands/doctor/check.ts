import type { Verdict } from '../../checks/finding.ts'
import type { ConfiguredClient as OperatorClient } from '../client.ts'

/** One question "postern doctor" asks. */
export interface Check {
  readonly id: string
  /** Left out in dev mode: it asks the world outside. */
  readonly outside?: boolean
  run(client: OperatorClient): Promise<Verdict>
}
