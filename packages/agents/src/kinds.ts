// Lists every kind of agent and finds the one that a `use` selects.
import { a2aKind } from './a2a/kind.ts'
import { aguiKind } from './agui/kind.ts'
import { builtinKinds } from './builtin/kind.ts'
import type { AgentKind } from './kind/agent-kind.ts'
import { moduleKind } from './module/kind.ts'
import { openaiKind } from './openai/kind.ts'
import { swarmKind } from './swarm/kind.ts'
import { webhookKind } from './webhook/kind.ts'

/** Every kind of agent. A new kind needs a file and an entry in this list. */
export const kinds: readonly AgentKind[] = [
  ...builtinKinds,
  webhookKind,
  openaiKind,
  swarmKind,
  a2aKind,
  aguiKind,
  moduleKind,
]

export function findAgentKind(use: string): AgentKind | undefined {
  return kinds.find(kind => kind.usePattern.test(use))
}
