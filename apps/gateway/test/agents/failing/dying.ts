// Notes its runs in a file, and dies at the step that another file names.
import { appendFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Agent } from '@postern/pipeline'
import { reachStep } from '../../crash/crash-point.ts'

/** Writes the id of each run's message to a file, because memory does not outlive the process. */
export const handle: Agent['handle'] = ({ id }) => {
  appendFileSync(join(process.env.DYING_DIRECTORY ?? '', 'runs'), `${id}\n`)
  reachStep('before the agent answers')
  queueMicrotask(() => reachStep('between its answer and the flush'))
  return 'answered'
}
