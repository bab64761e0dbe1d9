// Provides the tools of a desk that makes refunds: the till's refund, and a consultation before it.
import type { ToolDefinition } from '@postern/agents'
import { plainTextOf } from '@postern/message'

export { refund } from './till.ts'

/** Consults other agents before a refund: a plan, two agents that look into the order, and a conclusion. */
export const consult: ToolDefinition = {
  description: 'Has an order looked at from all sides',
  parameters: { type: 'object', properties: { order: { type: 'string' } }, required: ['order'] },
  async run({ order }: { readonly order: string }, { call, note }) {
    const phases = ['look it up', 'look at what is in stock']
    note({
      type: 'strategic_plan',
      content: { primary_worker: 'ledger', task_type: 'refund', phases, rationale: order },
    })
    const callWorker = async (worker: string, task: string) =>
      plainTextOf((await call(worker, task, { broadcast: true, phaseId: 0 })).parts)
    const [paid, stock] = await Promise.all([
      callWorker('@ledger@a.test', `Was order ${order} paid?`),
      callWorker('@stock@b.test', `Is order ${order} back in stock?`),
    ])
    note({ type: 'synthesis', content: `${paid} ${stock}`, from_manager: 'refunds', phase_id: 0 })
    return { paid, stock }
  },
}
