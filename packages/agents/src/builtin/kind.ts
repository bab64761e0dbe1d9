import type { Agent } from '@postern/core'
import type { AgentKind, Opening } from '../kind/agent-kind.ts'
import { commonAgentSchema, defineAgentKind } from '../kind/agent-kind.ts'
import { createEchoAgent } from '../kind/received-text.ts'
import { createHelpAgent } from './help.ts'

interface Builtin {
  readonly displayName: string
  readonly description: string
  create(opening: Opening): Agent
}

const builtins: Readonly<Record<string, Builtin>> = {
  echo: {
    displayName: 'Echo',
    description: 'Says back what it heard, and how it was proven who said it',
    create: createEchoAgent,
  },
  help: {
    displayName: 'Help',
    description: 'Shows what an agent is given and what it can answer; say "help"',
    create: ({ platform }) => createHelpAgent(platform),
  },
}

/** `builtin:<name>`: agents that come with the gateway. */
export const builtinKinds: readonly AgentKind[] = Object.entries(builtins).map(([name, { create, ...shown }]) =>
  defineAgentKind({
    usage: `"builtin:${name}"`,
    uses: new RegExp(`^builtin:${name}$`),
    schema: commonAgentSchema,
    runsHere: true,
    open: async (_config, opening) => ({ ...shown, agent: create(opening) }),
  }),
)
