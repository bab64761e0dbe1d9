// Registers `"use": "swarm"`: several models, humans and remote agents behind one address.
import { defineAgentKind } from '../kind/agent-kind.ts'
import { swarmAgentSchema } from './config/config.ts'

/** Several models, humans and agents elsewhere behind one address; they hand conversations over to each other. */
export const swarmKind = defineAgentKind({
  useNotation: '"swarm" (with default_agent and members)',
  usePattern: /^swarm$/,
  schema: swarmAgentSchema,
  open: async (config, deps) => (await import('./open.ts')).openSwarm(config, deps),
})
