import type { z } from 'zod'
import { openApprovals } from '../approval/approvals.ts'
import { parseDeadline } from '../config/duration.ts'
import type { OpenedAgent, Opening } from '../kind/agent-kind.ts'
import { defineAgentKind } from '../kind/agent-kind.ts'
import { openToolbox, selectTools } from '../tools/tools.ts'
import { createModelAgent } from './agent.ts'
import { openaiAgentSchema } from './config.ts'
import { openModelEndpoint } from './model-endpoint.ts'

type OpenaiAgentConfig = z.output<typeof openaiAgentSchema>

/** A model behind any endpoint that speaks OpenAI's chat completions: OpenAI, Ollama, vLLM, llama.cpp, a proxy. */
export const openaiKind = defineAgentKind({
  usage: '"openai" (with base_url and model)',
  uses: /^openai$/,
  schema: openaiAgentSchema,
  open: openModelAgent,
})

async function openModelAgent(config: OpenaiAgentConfig, opening: Opening): Promise<OpenedAgent> {
  const { name, platform, baseDir, stores } = opening
  const { tools: path, deadline } = config
  const toolbox = path === undefined ? undefined : await openToolbox(path, `agents.${name}.tools`, baseDir)
  const agent = createModelAgent({
    ...openModelEndpoint(config, platform),
    prompt: config.prompt,
    tools: selectTools(toolbox?.tools ?? new Map(), config.tool_policies, `agents.${name}.tool_policies`),
    rules: config.tool_policies,
    approvals: openApprovals({ name, records: stores.records, platform }),
    maxRounds: config.max_rounds,
    showsCalls: config.show_tools,
    marksCache: config.cache_control,
    seesImages: config.images,
    mayStaySilent: config.may_stay_silent,
    // Silence before the turn's own deadline is Unavailable, so the turn is tried again.
    timeoutMs: Math.floor(parseDeadline(deadline) * 0.9),
  })
  return { agent, ...(toolbox?.close && { close: toolbox.close }) }
}
