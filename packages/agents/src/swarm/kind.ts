import { openApprovals } from '../approval/approvals.ts'
import { parseDeadline } from '../config/duration.ts'
import type { OpenedAgent, Opening } from '../kind/agent-kind.ts'
import { defineAgentKind } from '../kind/agent-kind.ts'
import { openModelEndpoint } from '../openai/model-endpoint.ts'
import type { Toolbox } from '../tools/tools.ts'
import { openToolbox, selectTools } from '../tools/tools.ts'
import { createSwarmKindAgent } from './agent.ts'
import { openComputes } from './config/computes.ts'
import type { SwarmAgentConfig } from './config/config.ts'
import { isModelMember, swarmAgentSchema } from './config/config.ts'
import type { OpenedMember } from './members/members.ts'

/** Several models, humans and agents elsewhere behind one address; they hand conversations over to each other. */
export const swarmKind = defineAgentKind({
  usage: '"swarm" (with default_agent and members)',
  uses: /^swarm$/,
  schema: swarmAgentSchema,
  open: openSwarm,
})

async function openSwarm(config: SwarmAgentConfig, opening: Opening): Promise<OpenedAgent> {
  const { name, platform, stores, operators } = opening
  const boxes: Toolbox[] = []
  const opened = new Map<string, OpenedMember>()
  for (const member of Object.keys(config.members)) {
    opened.set(member, await openMember(member, config, opening, boxes))
  }
  const agent = createSwarmKindAgent({
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
  return {
    agent,
    async close() {
      await Promise.all(boxes.map(box => box.close?.()))
    },
  }
}

async function openMember(
  member: string,
  config: SwarmAgentConfig,
  { name, platform, baseDir }: Opening,
  boxes: Toolbox[],
): Promise<OpenedMember> {
  const settings = config.members[member]
  if (!settings || !isModelMember(settings)) return { tools: new Map() }
  const key = `agents.${name}.members.${member}`
  const box = settings.tools === undefined ? undefined : await openToolbox(settings.tools, `${key}.tools`, baseDir)
  if (box) boxes.push(box)
  const model = settings.model ?? config.model
  return {
    ...(model && { model: { ...openModelEndpoint(model, platform), seesImages: model.images } }),
    tools: selectTools(box?.tools ?? new Map(), settings.tool_policies, `${key}.tool_policies`),
  }
}
