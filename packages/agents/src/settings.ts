import type { z } from 'zod'
import type { a2aAgentSchema } from './a2a/kind.ts'
import type { aguiAgentSchema } from './agui/config.ts'
import type { commonAgentSchema } from './kind/agent-kind.ts'
import type { openaiAgentSchema } from './openai/config.ts'
import type { swarmAgentSchema } from './swarm/config/config.ts'
import type { webhookConfigSchema } from './webhook/kind.ts'

type KindSettings<Use extends string, Schema extends z.ZodType> = Omit<z.input<Schema>, 'use'> & {
  /** What answers: a path, `builtin:<name>`, or the name of a kind. */
  readonly use: Use
}

/** What a configuration file may say of one agent, by its `use`. */
export type AgentSettings =
  | KindSettings<`./${string}` | `../${string}` | `/${string}`, typeof commonAgentSchema>
  | KindSettings<'builtin:echo' | 'builtin:help', typeof commonAgentSchema>
  | KindSettings<'webhook', typeof webhookConfigSchema>
  | KindSettings<'openai', typeof openaiAgentSchema>
  | KindSettings<'a2a', typeof a2aAgentSchema>
  | KindSettings<'swarm', typeof swarmAgentSchema>
  | KindSettings<'ag-ui', typeof aguiAgentSchema>
