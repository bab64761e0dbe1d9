import { parseDuration } from '@postern/core'
import type { z } from 'zod'
import { openApprovals } from '../approval/approvals.ts'
import type { OpenedAgent, Opening } from '../kind/agent-kind.ts'
import { openTools } from '../mcp/toolbox.ts'
import { createModelAgent } from './agent.ts'
import type { openaiAgentSchema } from './config.ts'
import { openModelEndpoint } from './model-endpoint.ts'

type OpenaiAgentConfig = z.output<typeof openaiAgentSchema>

/** Opens an agent that is a model. @throws ConfigError */
export async function openOpenaiAgent(config: OpenaiAgentConfig, opening: Opening): Promise<OpenedAgent> {
  const { name, platform, stores } = opening
  const { deadline } = config
  const toolbox = await openTools(config, `agents.${name}`, opening)
  const agent = createModelAgent({
    ...openModelEndpoint(config, platform),
    prompt: config.prompt,
    tools: toolbox.tools,
    rules: config.tool_policies,
    approvals: openApprovals({ name, records: stores.records, platform }),
    maxRounds: config.max_rounds,
    showsCalls: config.show_tools,
    marksCache: config.cache_control,
    seesImages: config.images,
    mayStaySilent: config.may_stay_silent,
    // Silence before the turn's own deadline is Unavailable, so the turn is tried again.
    timeoutMs: Math.floor(parseDuration(deadline) * 0.9),
  })
  return { agent, ...(toolbox.close && { close: toolbox.close }) }
}
