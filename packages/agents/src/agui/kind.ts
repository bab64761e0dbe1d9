// Registers the kind of agent `"use": "ag-ui"`, which lets an AG-UI server be the agent.
import { parseDuration } from '@postern/message'
import { defineAgentKind } from '../kind/agent-kind.ts'
import { ReasoningHabit } from '../speech/reasoning-habit.ts'
import { aguiAgentSchema } from './config.ts'

/** Lets any AG-UI server be the agent: LangGraph, CrewAI, Mastra, Pydantic AI and others (docs.ag-ui.com). */
export const aguiKind = defineAgentKind({
  useNotation: '"ag-ui" (with url)',
  usePattern: /^ag-ui$/,
  schema: aguiAgentSchema,
  async open(config, { name, system }) {
    const aguiServer = {
      agent: name,
      config,
      reasoningHabit: new ReasoningHabit(config.thoughts),
      // A server that stays silent until just before the deadline of the turn is Unavailable, so the turn is retried.
      timeoutMs: Math.floor(parseDuration(config.deadline) * 0.9),
      openStream: system.fetchFor(new URL(config.url).origin).openStream,
      now: () => system.now(),
    }
    const { createAguiAgent } = await import('./agent.ts')
    return { agent: createAguiAgent(aguiServer) }
  },
})
