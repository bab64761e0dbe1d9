// Declares the command `swarm-usage`.
import { declareCommand } from '../declare.ts'

export const addSwarmUsageCommand = declareCommand({
  name: 'swarm-usage',
  arguments: '<agent>',
  description: 'show how much data a swarm shares between conversations, and its limit',
  hasJson: true,
  load: async () => (await import('./view.ts')).printSwarmUsage,
})
