// Declares the commands `approvals list` and `approvals revoke`.
import { declareGroup } from '../declare.ts'

export const addApprovalCommands = declareGroup({
  name: 'approvals',
  description: 'decisions that count for later calls of tools: list, revoke',
  load: async () => (await import('./view.ts')).approvalViews,
  commands: {
    list: {
      arguments: '<agent>',
      description: 'list the decisions of one agent, newest first (default)',
      hasJson: true,
      isDefault: true,
    },
    revoke: { arguments: '<agent> <id>', description: 'end a decision: the agent asks again' },
  },
})
