// Declares the command `agents list`.
import { declareGroup } from '../declare.ts'
import { parseLimit } from '../parse-limit.ts'

export const addAgentCommands = declareGroup({
  name: 'agents',
  description: 'the agents of the gateway: list',
  load: async () => (await import('./view.ts')).agentViews,
  commands: {
    list: {
      description: 'list the agents (default)',
      options: {
        '--name <text>': 'only agents whose name or displayed name contains this',
        '--limit <n>': { description: 'number of agents, at most 500', defaultValue: 20, parse: parseLimit },
      },
      hasJson: true,
      isDefault: true,
    },
  },
})
