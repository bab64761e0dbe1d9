// Declares the command `why`.
import { declareCommand } from '../declare.ts'

export const addWhyCommand = declareCommand({
  name: 'why',
  arguments: '<id>',
  description: 'say why a message, refusal or delivery went as it did: the reason, the evidence, the fix',
  note: '<id>: a number (3, "#3"; d3 for a delivery), any id of a peer or of ours, or an address of a sender or agent',
  hasJson: true,
  load: async () => (await import('./view.ts')).printWhy,
})
