import { readSharedQuota } from '@postern/agents'
import { Rejection } from '@postern/core'
import type { RecordQuota } from '@postern/transcript'
import type { OperatorRoute } from '../../api/operation.ts'
import { handleOperation } from '../../api/operation.ts'
import { swarmOperations } from './operations.ts'

interface SharedRouteOptions {
  readonly records: { readRoom(owner: string): Promise<RecordQuota> }
  readonly agents: Readonly<Record<string, unknown>>
}

/** How much a swarm keeps for all of its conversations, and how much it may. */
export function createSharedRoutes({ records, agents }: SharedRouteOptions): readonly OperatorRoute[] {
  return [
    handleOperation(swarmOperations.readUsage, async ({ parameters: { agent } }) => {
      const most = Object.hasOwn(agents, agent) ? readSharedQuota(agents[agent]) : undefined
      if (!most) throw new Rejection('no_recipient', 'Cannot show what is shared: there is no swarm of this name')
      return { agent, used: await records.readRoom(`agent:${agent}`), most }
    }),
  ]
}
