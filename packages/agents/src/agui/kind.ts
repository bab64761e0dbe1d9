import { parseDuration } from '@postern/core'
import { defineAgentKind } from '../kind/agent-kind.ts'
import { aguiAgentSchema } from './config.ts'

/** Any AG-UI server as the agent: LangGraph, CrewAI, Mastra, Pydantic AI and others (docs.ag-ui.com). */
export const aguiKind = defineAgentKind({
  usage: '"ag-ui" (with url)',
  uses: /^ag-ui$/,
  schema: aguiAgentSchema,
  async open(config, { name, platform }) {
    const server = {
      agent: name,
      config,
      // A server that is silent before the turn's own deadline is Unavailable, so the turn is tried again.
      timeoutMs: Math.floor(parseDuration(config.deadline) * 0.9),
      openStream: platform.fetchFor(new URL(config.url).origin).openStream,
      now: () => platform.now(),
    }
    const { createAguiAgent } = await import('./agent.ts')
    return { agent: createAguiAgent(server) }
  },
})
