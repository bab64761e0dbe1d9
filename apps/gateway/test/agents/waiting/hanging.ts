import type { AgentContext, NormalizedMessage } from '@postern/core'

/** Never answers; ends only when its time is over. */
export function handle(_message: NormalizedMessage, { signal }: AgentContext): Promise<undefined> {
  return new Promise(resolve => signal.addEventListener('abort', () => resolve(undefined)))
}
