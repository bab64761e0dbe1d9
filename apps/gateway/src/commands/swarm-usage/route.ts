import { readSharedQuota } from '@postern/agents'
import { Rejection } from '@postern/core'
import type { RecordQuota } from '@postern/transcript'
import { z } from 'zod'
import type { OperatorRoute } from '../../api/operation.ts'
import { defineOperation, handleOperation } from '../../api/operation.ts'

const quotaSchema = z.object({ records: z.int(), bytes: z.int() })

export const swarmUsageOperation = defineOperation({
  id: 'readSwarmUsage',
  method: 'GET',
  path: '/agents/{agent}/swarm-usage',
  summary: 'Shows how much a swarm keeps for all of its conversations, and how much it may.',
  task: 'show what is shared',
  parameters: z.object({ agent: z.string() }),
  answer: z.object({ agent: z.string(), used: quotaSchema, most: quotaSchema }),
  refusals: { no_recipient: 'There is no swarm of this name.' },
})

interface SharedRouteOptions {
  readonly records: { readRoom(owner: string): Promise<RecordQuota> }
  readonly agents: Readonly<Record<string, unknown>>
}

/** How much a swarm keeps for all of its conversations, and how much it may. */
export function createSwarmUsageRoute({ records, agents }: SharedRouteOptions): OperatorRoute {
  return handleOperation(swarmUsageOperation, async ({ parameters: { agent } }) => {
    const most = Object.hasOwn(agents, agent) ? readSharedQuota(agents[agent]) : undefined
    if (!most) throw new Rejection('no_recipient', 'Cannot show what is shared: there is no swarm of this name')
    return { agent, used: await records.readRoom(`agent:${agent}`), most }
  })
}
