import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

/** Sets the state of the person with a function that never ends, if the message asks for it. */
export function handle({ parts }: NormalizedMessage, { person }: AgentContext): string {
  if (plainTextOf(parts).includes('endless')) person?.state?.set(() => new Promise<never>(() => {}))
  return person?.state ? 'known' : 'unknown'
}
