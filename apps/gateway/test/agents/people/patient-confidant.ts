import type { AgentContext, NormalizedMessage } from '@postern/core'
import { plainTextOf } from '@postern/core'
import { handle as confide } from './confidant.ts'

let going: (() => void)[] = []

/** Asked to hold, it does until the word `go` comes in another thread. */
export async function handle(message: NormalizedMessage, context: AgentContext): Promise<string> {
  const text = plainTextOf(message.parts)
  if (text === 'hold') await new Promise<void>(resolve => void going.push(resolve))
  if (text === 'go') {
    for (const go of going) go()
    going = []
  }
  return confide(message, context)
}
