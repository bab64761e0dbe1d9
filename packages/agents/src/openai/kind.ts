// Registers the kind of agent `"use": "openai"`, whose answers a chat completion model writes.
import { defineAgentKind } from '../kind/agent-kind.ts'
import { openaiAgentSchema } from './config.ts'

/** A model behind any endpoint that speaks OpenAI's chat completions: OpenAI, Ollama, vLLM, llama.cpp, a proxy. */
export const openaiKind = defineAgentKind({
  useNotation: '"openai" (with base_url and model)',
  usePattern: /^openai$/,
  schema: openaiAgentSchema,
  open: async (config, deps) => (await import('./agent.ts')).openOpenaiAgent(config, deps),
})
