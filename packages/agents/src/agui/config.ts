import { z } from 'zod'
import { bearerSchema, endpointUrlSchema } from '../config/endpoint.ts'
import { commonAgentSchema } from '../kind/agent-kind.ts'

/** `{ "use": "ag-ui" }` */
export const aguiAgentSchema = commonAgentSchema.extend({
  /** Address that gets the runs by POST; it may be private. */
  url: endpointUrlSchema,
  /** Bearer token of the server. */
  api_key: bearerSchema.optional(),
  /** Whether the server keeps conversations by their `threadId`, such as LangGraph with a checkpointer; it then gets new messages alone. */
  keeps_history: z.boolean().default(false),
  /** Sent with each run as `forwardedProps`. */
  forwarded_props: z.record(z.string(), z.json()).default({}),
})
