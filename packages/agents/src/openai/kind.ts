// Registers `"use": "openai"`: a model at any endpoint for chat completions.
import { defineAgentKind } from '../kind/agent-kind.ts'
import { openaiAgentSchema } from './config.ts'

/** A model behind any endpoint that speaks OpenAI's chat completions: OpenAI, Ollama, vLLM, llama.cpp, a proxy. */
export const openaiKind = defineAgentKind({
  usage: '"openai" (with base_url and model)',
  uses: /^openai$/,
  schema: openaiAgentSchema,
  open: async (config, deps) => (await import('./agent.ts')).openOpenaiAgent(config, deps),
})
