// Creates the pool that expands broadcasts into deliveries.
import { expandBroadcast } from '../../actions/expand-broadcast.ts'
import type { Broadcast } from '../../ports/records/work/delivery.ts'
import type { PoolDeps } from './pool-deps.ts'
import { leaseWork, readPoolOptions } from './pool-deps.ts'
import type { WorkPool } from './work-pool.ts'
import { createWorkPool } from './work-pool.ts'

export function createBroadcastPool(deps: PoolDeps): WorkPool<Broadcast> {
  const { turnContext, results, system, isClosed } = deps
  const { store, channels } = turnContext
  return createWorkPool<Broadcast>({
    ...readPoolOptions(deps),
    // The store preserves the order of the posts in a thread. One broadcast at a time leaves the store free for answers.
    slots: 1,
    groupOf: () => undefined,
    lease: limit => leaseWork(deps, request => store.leaseBroadcasts(request), limit),
    run: broadcast => expandBroadcast(broadcast, { store, results, system, channels, isClosed }),
  })
}
