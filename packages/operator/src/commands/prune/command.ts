// Declares the command `prune`.
import { declareCommand } from '../declare.ts'

export const addPruneCommand = declareCommand({
  name: 'prune',
  description: 'delete messages, raw bytes, files and refusals that are older than "retention" keeps',
  options: { '--dry-run': 'only list what the command would delete' },
  hasJson: true,
  load: async () => (await import('./view.ts')).pruneView,
})
