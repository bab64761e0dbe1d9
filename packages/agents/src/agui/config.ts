// Declares the configuration of an agent that runs at an AG-UI server.
import { z } from 'zod'
import { bearerSchema, endpointUrlSchema } from '../config/endpoint.ts'
import { commonAgentSchema } from '../kind/agent-kind.ts'
import { reasoningStarts } from '../speech/reasoning-habit.ts'
import { chatStateSchema } from './chat-state.ts'

/** `{ "use": "ag-ui" }` */
export const aguiAgentSchema = commonAgentSchema.extend({
  /** Address that gets the runs by POST; it may be private. */
  url: endpointUrlSchema,
  /** Bearer token of the server. */
  api_key: bearerSchema.optional(),
  /** Sends new messages alone, to a server that keeps conversations by their `threadId`, such as LangGraph with a checkpointer. */
  keeps_history: z.boolean().default(false),
  /** Kinds of messages that the agent gets; it gets no others. With `cancel` the server hears of questions that a person closes or whose task they cancel. */
  receives: commonAgentSchema.shape.receives.default(['message', 'cancel']),
  /** Members of the server's state that people see in the chat: `none`, a list of their names, or `all`; never `messages`. */
  chat_state: chatStateSchema.default('none'),
  /**
   * Beginning of the text: with `first` inside a thought whose opening tag stands in the prompt (DeepSeek R1, Qwen), with `none` outside; `auto` finds
   * out. Until that is known, a stream waits for its end.
   */
  thoughts: z.enum(reasoningStarts).default('auto'),
  /** Sent with each run as `forwardedProps`. */
  forwarded_props: z.record(z.string(), z.json()).default({}),
})
