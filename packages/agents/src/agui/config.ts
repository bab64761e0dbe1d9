import { z } from 'zod'
import { commonAgentSchema } from '../kind/agent-kind.ts'

/** `{ "use": "ag-ui" }` */
export const aguiAgentSchema = commonAgentSchema.extend({
  /** Address that gets the runs by POST; it may be private. */
  url: z.url({ protocol: /^https?$/ }).refine(hasNoCredentials, 'must not hold credentials'),
  /** Bearer token of the server. */
  api_key: z
    .string()
    .regex(/^[\x21-\x7e]+$/, 'must be one word of ASCII')
    .optional(),
  /** Whether the server keeps conversations by their `threadId`, such as LangGraph with a checkpointer; it then gets new messages alone. */
  keeps_history: z.boolean().default(false),
  /** Sent with each run as `forwardedProps`. */
  forwarded_props: z.record(z.string(), z.json()).default({}),
})

function hasNoCredentials(url: string): boolean {
  const parsed = URL.parse(url)
  return !parsed?.username && !parsed?.password
}
