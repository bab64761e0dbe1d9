import type { AgentDirectory, LookupStore } from '@postern/core'
import { agentIris } from '../format/own-iris.ts'
import { secretName } from './key-generations.ts'

/** Whether an agent of this name existed and is gone; peers may still know it. */
export type IsFormerAgent = (name: string) => Promise<boolean>

/** An agent that had keys was known, or could have been; one that never was has none. */
export function createFormerAgents(
  store: Pick<LookupStore, 'hasSecret'>,
  { origin, find }: Pick<AgentDirectory, 'origin' | 'find'>,
): IsFormerAgent {
  return async name => {
    if (find(name)) return false
    return store.hasSecret(secretName(agentIris(origin, name).actor.slice(origin.length), 'made-at'))
  }
}
