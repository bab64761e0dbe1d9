import { TurnAborted } from '../format/errors.ts'
import type { TurnContext } from '../ports/agent/turn-context.ts'
import { workKinds } from '../ports/notice-store.ts'
import type { Store } from '../ports/store.ts'
import { createHeldResults } from './held-results.ts'
import type { Sending } from './pipeline.ts'
import type { WorkerOptions, WorkerPlatform, WorkerPools } from './pools.ts'
import { createPools } from './pools.ts'

/** A retry may be scheduled while the clock sleeps: it never sleeps longer than this. */
const longestNapMs = 1_000

export interface Worker {
  /** Resolves when the turns of this agent that run now have ended. */
  untilTurnsEnd(agent: string): Promise<void>
  /** Leases no more work, lets running work finish for `graceMs`, then returns its leases. Asked again, the shorter time counts. */
  stop(graceMs: number): Promise<void>
}

/** Works turns and deliveries side by side until stopped. */
export function startWorker(
  { store, ...turnContext }: Omit<TurnContext, 'store' | 'results'> & { readonly store: Store },
  sending: Omit<Sending, 'results'>,
  platform: WorkerPlatform,
  options: WorkerOptions,
): Worker {
  const stopping = new AbortController()
  const abandoning = new AbortController()
  const results = createHeldResults(store, { ...platform, stop: abandoning.signal })
  const pools = createPools({
    turnContext: { ...turnContext, store },
    sending,
    results,
    platform,
    options,
    isClosed: () => stopping.signal.aborted,
    abandoned: abandoning.signal,
  })
  const running: Running = { store, platform, pools, stopping: stopping.signal, abandoned: abandoning.signal }
  const unlisten = store.listen('work', kinds => wakeFor(kinds, pools))
  void watchClock(running)
  void keepLeases(running, options.leaseMs)
  return {
    async untilTurnsEnd(agent) {
      const [turns] = pools.leased
      await Promise.all([...turns.running].map(([turn, end]) => turn.agent === agent && end))
    },
    async stop(graceMs) {
      stopping.abort()
      unlisten()
      await settleWithin(graceMs, running, abandoning.signal)
      abandoning.abort(new TurnAborted('shutting_down'))
      await settleWithin(1_000, running)
    },
  }
}

/** A worker that was started. */
interface Running {
  readonly store: TurnContext['store']
  readonly platform: WorkerPlatform
  readonly pools: WorkerPools
  readonly stopping: AbortSignal
  readonly abandoned: AbortSignal
}

/** What is not understood wakes all. */
function wakeFor(kinds: unknown, { byKind }: WorkerPools): void {
  const ready = Array.isArray(kinds) ? workKinds.filter(kind => kinds.includes(kind)) : workKinds
  for (const pool of ready.flatMap(kind => byKind[kind])) pool.wake()
}

function wakeAll({ all }: WorkerPools): void {
  for (const pool of all) pool.wake()
}

/** Wakes the pools for work without a notice: retries that fall due and leases that ran out. */
async function watchClock({ store, platform, pools, stopping }: Running): Promise<void> {
  while (!stopping.aborted) {
    wakeAll(pools)
    const due = await store.nextDue().catch(() => undefined)
    const wait = due === undefined ? longestNapMs : Math.min(longestNapMs, Math.max(50, due - platform.now()))
    await platform.sleep(wait, stopping)
  }
}

async function keepLeases({ store, platform, pools, abandoned }: Running, leaseMs: number): Promise<void> {
  while (!abandoned.aborted) {
    await platform.sleep(leaseMs / 3, abandoned)
    const works = pools.leased.flatMap(pool => [...pool.running.keys()])
    await Promise.all(works.map(work => store.renew(work, leaseMs).catch(() => undefined)))
  }
}

async function settleWithin(ms: number, { platform, pools }: Running, over?: AbortSignal): Promise<void> {
  const settled = new AbortController()
  const end = () => settled.abort()
  const all = Promise.all(pools.all.map(pool => pool.drain())).then(end)
  over?.addEventListener('abort', end)
  await Promise.race([all, platform.sleep(ms, settled.signal)])
}
