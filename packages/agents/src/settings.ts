// Declares the types of an agent's settings in a configuration file, by its `use`.
import type { z } from 'zod'
import type { a2aAgentSchema } from './a2a/kind.ts'
import type { aguiAgentSchema } from './agui/config.ts'
import type { commonAgentSchema } from './kind/agent-kind.ts'
import type { openaiAgentSchema } from './openai/config.ts'
import type { swarmAgentSchema } from './swarm/config/config.ts'
import type { webhookConfigSchema } from './webhook/kind.ts'

type KindSettings<Use extends string, Schema extends z.ZodType> = Omit<z.input<Schema>, 'use'> & {
  /** Code or service that answers: a path, `builtin:<name>`, or the name of a kind. */
  readonly use: Use
}

/** The settings of one agent in a configuration file. `use` determines the type. */
export type AgentSettings =
  | KindSettings<`./${string}` | `../${string}` | `/${string}`, typeof commonAgentSchema>
  | KindSettings<'builtin:echo' | 'builtin:help', typeof commonAgentSchema>
  | KindSettings<'webhook', typeof webhookConfigSchema>
  | KindSettings<'openai', typeof openaiAgentSchema>
  | KindSettings<'a2a', typeof a2aAgentSchema>
  | KindSettings<'swarm', typeof swarmAgentSchema>
  | KindSettings<'ag-ui', typeof aguiAgentSchema>
