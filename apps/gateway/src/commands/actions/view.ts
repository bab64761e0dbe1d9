import type { AgentAction } from '@postern/core'
import type { ClientOpener } from '../client.ts'
import type { Output } from '../context.ts'
import { printAnswer } from '../print-list.ts'
import { actionOperations } from './route.ts'

/** Lets an agent do something of itself; prints the ids of what it posted. */
export function performAction(
  openClient: ClientOpener,
  output: Output,
  agent: string,
  act: AgentAction,
): Promise<void> {
  const asked = { operation: actionOperations.perform, input: { parameters: { agent }, body: { acts: [act] } } }
  return printAnswer(openClient, output, asked, ({ done }) =>
    done.map(({ act: kind, id }) => (id ? `${kind}: ${id}` : `${kind}: done`)).join('\n'),
  )
}
