import { a2aKind } from './a2a.ts'
import type { AgentKind } from './agent-kind.ts'
import { builtinKinds } from './builtin.ts'
import { moduleKind } from './module.ts'
import { openaiKind } from './openai/kind.ts'
import { swarmKind } from './swarm/kind.ts'
import { webhookKind } from './webhook.ts'

/** Every way to plug an agent in. A new one is a row here and a file. */
export const kinds: readonly AgentKind[] = [...builtinKinds, webhookKind, openaiKind, swarmKind, a2aKind, moduleKind]

export function findAgentKind(use: string): AgentKind | undefined {
  return kinds.find(kind => kind.matches(use))
}
