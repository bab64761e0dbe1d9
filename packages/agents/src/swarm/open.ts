import type { Agent } from '@postern/core'
import { openApprovals } from '../approval/approvals.ts'
import { parseDeadline } from '../config/duration.ts'
import type { OpenedAgent, Opening } from '../kind/agent-kind.ts'
import { openTools } from '../mcp/toolbox.ts'
import { openModelEndpoint } from '../openai/model-endpoint.ts'
import type { Toolbox } from '../tools/tools.ts'
import { createSwarmKindAgent } from './agent.ts'
import { openComputes } from './config/computes.ts'
import type { SwarmAgentConfig } from './config/config.ts'
import { isModelMember } from './config/config.ts'
import type { OpenedMember } from './members/members.ts'

/** Opens an agent with all members behind it. @throws ConfigError */
export async function openSwarm(config: SwarmAgentConfig, opening: Opening): Promise<OpenedAgent> {
  const boxes: Toolbox[] = []
  const close = async () => {
    await Promise.all(boxes.map(box => box.close?.()))
  }
  try {
    return { agent: await openSwarmAgent(config, opening, boxes), close }
  } catch (error) {
    await close()
    throw error
  }
}

async function openSwarmAgent(config: SwarmAgentConfig, opening: Opening, boxes: Toolbox[]): Promise<Agent> {
  const { name, platform, stores, operators } = opening
  const opened = new Map<string, OpenedMember>()
  for (const member of Object.keys(config.members)) {
    opened.set(member, await openMember(member, config, opening, boxes))
  }
  return createSwarmKindAgent({
    name,
    config,
    opened,
    operators,
    computes: await openComputes(config, opening),
    stores,
    platform,
    approvals: openApprovals({ name, records: stores.records, platform }),
    timeoutMs: Math.floor(parseDeadline(config.deadline) * 0.9),
  })
}

async function openMember(
  member: string,
  config: SwarmAgentConfig,
  opening: Opening,
  boxes: Toolbox[],
): Promise<OpenedMember> {
  const settings = config.members[member]
  if (!settings || !isModelMember(settings)) return { tools: new Map() }
  const key = `agents.${opening.name}.members.${member}`
  const box = await openTools(settings, key, opening)
  boxes.push(box)
  const model = settings.model ?? config.model
  return {
    ...(model && { model: { ...openModelEndpoint(model, opening.platform), seesImages: model.images } }),
    tools: box.tools,
  }
}
