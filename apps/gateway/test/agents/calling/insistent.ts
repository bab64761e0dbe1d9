// Calls an address as often as the text says, and reports the refused calls.
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

/** Calls an address as often as the text says ("20 @name@host …"), with the rest of the text, and reports the number of refused calls. */
export async function handle({ parts }: NormalizedMessage, context: AgentContext): Promise<string> {
  const [count = '0', address = '', ...textWords] = plainTextOf(parts).split(' ')
  const refusals: string[] = []
  for (let calls = 0; calls < Number(count); calls += 1) {
    await context.call(address, textWords.join(' ') || 'end').catch((error: Error) => refusals.push(error.message))
  }
  return `${refusals.length} refused ${refusals[0] ?? ''}`.trim()
}
