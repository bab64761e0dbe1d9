import type { OverdueStore, Platform, RequirementDecisions } from '@postern/core'
import { randomHex } from '@postern/core'

interface OverdueWatchDeps {
  readonly store: Pick<OverdueStore, 'listOverdue'>
  readonly decisions: Pick<RequirementDecisions, 'endOverdue'>
  readonly platform: Pick<Platform, 'randomBytes' | 'log' | 'sleep'>
}

/** Nobody waits much longer than they were told, ms. */
const lookMs = 1_000
const mostAtOnce = 50

/** Until the signal aborts: whoever waits for an operator who has not decided in time is told so, once, whichever gateway is first. */
export async function watchOverdue(deps: OverdueWatchDeps, signal: AbortSignal): Promise<void> {
  const { platform } = deps
  while (!signal.aborted) {
    const ended = await endOverdue(deps, signal).catch(err => {
      platform.log.warn({ err }, 'waits whose time is over could not be looked for')
      return 0
    })
    if (ended < mostAtOnce) await platform.sleep(lookMs, signal).catch(() => undefined)
  }
}

/** How many there were. One that fails is tried again, and holds up nobody. */
async function endOverdue({ store, decisions, platform }: OverdueWatchDeps, signal: AbortSignal): Promise<number> {
  let ended = 0
  for (const { id, agent } of await store.listOverdue(mostAtOnce)) {
    if (signal.aborted) break
    const correlationId = randomHex(platform, 8)
    const fields = { correlation_id: correlationId, requirement: id, agent }
    try {
      const message = await decisions.endOverdue(id, correlationId)
      ended += 1
      platform.log.info({ ...fields, message }, 'nobody decided in time')
    } catch (err) {
      platform.log.warn({ ...fields, err }, 'a wait whose time is over could not be ended')
    }
  }
  return ended
}
