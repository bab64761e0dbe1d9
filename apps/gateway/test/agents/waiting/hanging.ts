// Never answers, and ends only when its time is over.
import type { NormalizedMessage } from '@postern/message'
import type { AgentContext } from '@postern/pipeline'

export function handle(_message: NormalizedMessage, { signal }: AgentContext): Promise<undefined> {
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(undefined)))
}
