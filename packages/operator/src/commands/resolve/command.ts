// Declares the command `resolve`.
import { declareCommand } from '../declare.ts'

export const addResolveCommand = declareCommand({
  name: 'resolve',
  arguments: '<address>',
  description: 'show what a peer finds behind an address, and its faults; exit code 1: faults, 2: not found',
  hasJson: true,
  load: async () => (await import('./view.ts')).printResolved,
})
