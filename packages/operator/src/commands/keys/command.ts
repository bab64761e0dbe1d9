// Declares the commands `keys list` and `keys rotate`.
import { declareGroup } from '../declare.ts'

export const addKeyCommands = declareGroup({
  name: 'keys',
  description: 'keys, DNS records to publish, and names of secrets: list, rotate',
  load: async () => (await import('./view.ts')).keyViews,
  commands: {
    list: {
      description: 'list keys and secrets (default)',
      options: { '--agent <name>': 'only keys of this agent and of the gateway itself' },
      hasJson: true,
      isDefault: true,
    },
    rotate: {
      arguments: '[agent]',
      description:
        'make new keys for one agent, or for all agents, mail and the secrets of the store; the old ones stay valid for a week',
      options: { '--revoke': 'end the old keys at once, because somebody else has one' },
      hasJson: true,
    },
  },
})
