// Declares the configuration of an agent whose answers a chat completion model writes.
import { z } from 'zod'
import { bearerSchema } from '../config/endpoint.ts'
import { toolPolicyShape } from '../config/tool-policies.ts'
import { commonAgentSchema } from '../kind/agent-kind.ts'
import { mcpShape } from '../mcp/config.ts'
import { modulePathPattern } from '../modules/import-module.ts'
import { reasoningStarts } from '../speech/reasoning-habit.ts'

/** The members of a request that an operator cannot set in `parameters`. */
const reservedParameters = ['model', 'messages', 'stream', 'tools', 'tool_choice', 'n']

/** The address of a model and the parameters of its requests. */
export const modelShape = {
  /** Address before `/chat/completions`; it may be private. */
  base_url: z.url({ protocol: /^https?$/ }).refine(hasNoSecrets, 'must not hold credentials or a fragment'),
  /** Name of the model. */
  model: z.string().min(1).max(300),
  /** Bearer token of the endpoint. */
  api_key: bearerSchema.optional(),
  /** Sampling temperature. */
  temperature: z.number().min(0).max(2).optional(),
  /** Longest answer, in tokens. */
  max_tokens: z.int().positive().optional(),
  /** Further members of a request: `max_completion_tokens`, `top_p`, `reasoning_effort`, … */
  parameters: z
    .record(z.string(), z.json())
    .refine(
      parameters => reservedParameters.every(name => !(name in parameters)),
      `must not have ${reservedParameters.join(', ')}`,
    )
    .default({}),
  /** Lets the gateway ask for answers as a stream. */
  stream: z.boolean().default(true),
  /**
   * Beginning of the text: with `first` inside a thought whose opening tag stands in the prompt (DeepSeek R1, Qwen), with `none` outside; `auto`
   * finds out. Until that is known, a stream waits for its end.
   */
  thoughts: z.enum(reasoningStarts).default('auto'),
  /** Lets the gateway ask what answers cost in tokens, and keep that. */
  usage: z.boolean().default(true),
}

/** `{ "use": "openai" }` */
export const openaiAgentSchema = commonAgentSchema.extend({
  ...modelShape,
  /** The system prompt of the model. */
  prompt: z.string().max(200_000).default(''),
  /** Path of a module whose exports the model may call. */
  tools: z.string().regex(modulePathPattern, 'must be a path such as "./tools.ts"').optional(),
  ...mcpShape,
  ...toolPolicyShape,
  /** Rounds in which the model may call tools in one turn before it must answer. */
  max_rounds: z.int().min(1).max(50).default(8),
  /** Makes calls and their results part of the answer, so that peers and later turns see them. */
  show_tools: z.boolean().default(false),
  /** Marks the end of the history's stable head with `cache_control`, for endpoints that cache prompts by such marks. */
  cache_control: z.boolean().default(false),
  /** Shows pictures to the model. */
  images: z.boolean().default(false),
  /** Lets an empty answer mean to say nothing; otherwise it is a failure. */
  may_stay_silent: z.boolean().default(false),
})

function hasNoSecrets(text: string): boolean {
  const url = URL.parse(text)
  return !url?.username && !url?.password && !url?.hash
}
