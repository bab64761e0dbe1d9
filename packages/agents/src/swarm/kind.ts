// Registers the kind of agent `"use": "swarm"`, in which several models, humans and remote agents share one address.
import { defineAgentKind } from '../kind/agent-kind.ts'
import { swarmAgentSchema } from './config/config.ts'

/** Lets several models, humans and agents elsewhere share one address. They hand conversations over to each other. */
export const swarmKind = defineAgentKind({
  useNotation: '"swarm" (with default_agent and members)',
  usePattern: /^swarm$/,
  schema: swarmAgentSchema,
  open: async (config, deps) => (await import('./open-swarm.ts')).openSwarm(config, deps),
})
