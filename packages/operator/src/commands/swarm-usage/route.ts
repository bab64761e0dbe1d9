// Returns how much data a swarm shares between its conversations, and its limit, in the operator's API.
import { Rejection } from '@postern/message'
import type { RecordQuota } from '@postern/transcript'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'

const quotaSchema = z.object({ records: z.int(), bytes: z.int() })

export const swarmUsageOperation = defineOperation({
  id: 'readSwarmUsage',
  method: 'GET',
  path: '/agents/{agent}/swarm-usage',
  summary: 'Shows how much data a swarm shares between conversations, and its limit.',
  task: 'show swarm usage',
  parameters: z.object({ agent: z.string() }),
  answer: z.object({ agent: z.string(), used: quotaSchema, most: quotaSchema }),
  refusals: { no_recipient: 'There is no swarm of this name.' },
})

interface SwarmUsageOptions {
  readonly records: { readQuota(owner: string): Promise<RecordQuota> }
  /** Returns the limit of the data that a swarm shares; undefined if there is no swarm of this name. */
  findQuota(agent: string): RecordQuota | undefined
}

export function createSwarmUsageRoute({ records, findQuota }: SwarmUsageOptions): OperatorRoute {
  return handleOperation(swarmUsageOperation, async ({ parameters: { agent } }) => {
    const quota = findQuota(agent)
    if (!quota) throw new Rejection('no_recipient', 'Cannot show swarm usage: there is no swarm of this name')
    return { agent, used: await records.readQuota(`agent:${agent}`), most: quota }
  })
}
