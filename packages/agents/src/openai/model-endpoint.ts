// Builds the endpoint and the fixed request members of a model from its configuration.
import type { Json } from '@postern/message'
import type { z } from 'zod'
import type { ModelEndpoint } from '../completion/completion.ts'
import { createUsageRequest } from '../completion/model-error.ts'
import type { AgentSystem } from '../kind/agent-kind.ts'
import { ReasoningHabit } from '../speech/reasoning-habit.ts'
import type { modelShape } from './config.ts'

type ModelConfig = z.output<z.ZodObject<typeof modelShape>>

export interface ConnectedModel {
  readonly endpoint: ModelEndpoint
  /** The members of every request. */
  readonly settings: { readonly [name: string]: Json | undefined }
}

/** Opens the connection to a model that the operator has configured. */
export function openModelEndpoint(config: ModelConfig, system: AgentSystem): ConnectedModel {
  const { base_url, api_key, model, stream, parameters, usage: reportsUsage, thoughts } = config
  const endpoint = {
    url: buildCompletionsUrl(base_url),
    apiKey: api_key,
    model,
    reasoningHabit: new ReasoningHabit(thoughts),
    // An operator who sets `stream_options` decides whether usage is requested.
    usage: createUsageRequest({
      isEnabled: reportsUsage,
      needsStreamOptions: stream && !('stream_options' in parameters),
    }),
    openStream: system.fetchFor(new URL(base_url).origin).openStream,
    system,
  }
  return { endpoint, settings: readSettings(config) }
}

/** Builds the URL of chat completions. The query keeps its position, because Azure puts its version there. */
function buildCompletionsUrl(base: string): string {
  const url = new URL(base)
  url.pathname = `${url.pathname.replace(/\/+$/, '')}/chat/completions`
  return url.href
}

function readSettings({ model, stream, temperature, max_tokens, parameters }: ModelConfig) {
  return {
    ...(parameters as { readonly [name: string]: Json }),
    model,
    stream,
    ...(temperature !== undefined && { temperature }),
    ...(max_tokens !== undefined && { max_tokens }),
  }
}
