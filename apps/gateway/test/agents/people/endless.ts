// Sets the state of a person by a function that never ends, if the message asks for it.
import type { NormalizedMessage } from '@postern/message'
import { plainTextOf } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

export function handle({ parts }: NormalizedMessage, { person }: AgentContext): string {
  if (plainTextOf(parts).includes('endless')) person?.state?.set(() => new Promise<never>(() => {}))
  return person?.state ? 'known' : 'unknown'
}
