// Performs an action of an agent for a command, and prints the ids of new posts.
import type { AgentAction } from '@postern/message'
import type { ApiOutput } from '../context.ts'
import { printAnswer } from '../print-list.ts'
import { actionOperation } from './route.ts'

export function performAction(output: ApiOutput, agent: string, act: AgentAction): Promise<void> {
  return printAnswer(output, actionOperation, { parameters: { agent }, body: { acts: [act] } }, ({ done }) =>
    done.map(({ act: kind, id }) => (id ? `${kind}: ${id}` : `${kind}: done`)).join('\n'),
  )
}
