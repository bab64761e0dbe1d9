import type { AgentAction } from '@postern/core'
import type { ApiOutput } from '../context.ts'
import { printAnswer } from '../print-list.ts'
import { actionOperation } from './route.ts'

/** Lets an agent do something of itself; prints the ids of what it posted. */
export function performAction(output: ApiOutput, agent: string, act: AgentAction): Promise<void> {
  return printAnswer(output, actionOperation, { parameters: { agent }, body: { acts: [act] } }, ({ done }) =>
    done.map(({ act: kind, id }) => (id ? `${kind}: ${id}` : `${kind}: done`)).join('\n'),
  )
}
