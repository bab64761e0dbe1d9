// Declares the commands `suppressions list` and `suppressions lift`.
import { declareGroup } from '../declare.ts'

export const addSuppressionCommands = declareGroup({
  name: 'suppressions',
  description: 'addresses that an agent no longer mails, after a bounce or a complaint: list, lift',
  load: async () => (await import('./view.ts')).suppressionViews,
  commands: {
    list: {
      arguments: '<agent>',
      description: 'list the suppressions of one agent (default)',
      hasJson: true,
      isDefault: true,
    },
    lift: {
      arguments: '<agent> <address>',
      description: 'lift a suppression: the agent may mail the address again',
    },
  },
})
