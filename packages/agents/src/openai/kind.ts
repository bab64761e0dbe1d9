// Registers `"use": "openai"`: a model at any endpoint for chat completions.
import { defineAgentKind } from '../kind/agent-kind.ts'
import { openaiAgentSchema } from './config.ts'

/** A model behind any endpoint that speaks OpenAI's chat completions: OpenAI, Ollama, vLLM, llama.cpp, a proxy. */
export const openaiKind = defineAgentKind({
  useNotation: '"openai" (with base_url and model)',
  usePattern: /^openai$/,
  schema: openaiAgentSchema,
  open: async (config, deps) => (await import('./agent.ts')).openOpenaiAgent(config, deps),
})
