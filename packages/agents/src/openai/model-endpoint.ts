import type { Json } from '@postern/core'
import type { z } from 'zod'
import type { ModelEndpoint } from '../completion/completion.ts'
import { createUsageAsking } from '../completion/model-error.ts'
import type { AgentPlatform } from '../kind/agent-kind.ts'
import type { modelShape } from './config.ts'

type ModelConfig = z.output<z.ZodObject<typeof modelShape>>

export interface OpenedModel {
  readonly endpoint: ModelEndpoint
  /** Members of every request. */
  readonly settings: { readonly [name: string]: Json | undefined }
}

/** The connection to a model that the operator named. */
export function openModelEndpoint(config: ModelConfig, platform: AgentPlatform): OpenedModel {
  const { base_url, api_key, model, stream, parameters, usage: isWanted } = config
  const endpoint = {
    url: completionsUrl(base_url),
    apiKey: api_key,
    model,
    // An operator who sets the stream's options decides about them alone.
    usage: createUsageAsking({ isWanted, asks: stream && !('stream_options' in parameters) }),
    openStream: platform.fetchFor(new URL(base_url).origin).openStream,
    platform,
  }
  return { endpoint, settings: readSettings(config) }
}

/** The query stays in place, because Azure has its version there. */
function completionsUrl(base: string): string {
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
