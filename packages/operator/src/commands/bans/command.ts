// Declares the commands `bans list` and `bans lift`.
import { declareGroup } from '../declare.ts'

export const addBanCommands = declareGroup({
  name: 'bans',
  description: 'senders that the policies of a swarm have banned: list, lift',
  load: async () => (await import('./view.ts')).banViews,
  commands: {
    list: { arguments: '<agent>', description: 'list the bans of one agent (default)', hasJson: true, isDefault: true },
    lift: { arguments: '<agent> <id>', description: 'lift a ban: the agent hears the sender again' },
  },
})
