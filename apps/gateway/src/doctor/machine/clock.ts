import type { GuardedFetch } from '@postern/core'
import type { Verdict } from '../../checks/finding.ts'
import { failure, ok } from '../../checks/finding.ts'
import type { CheckOutcome } from '../check.ts'
import { about, skip } from '../check.ts'
import type { MachineDeps } from '../deps.ts'
import { askTimeServer } from './time-server.ts'

/** A signature from the future is refused by receivers; so much is forgiven everywhere. */
const toleranceMs = 60_000
const timeServer = 'pool.ntp.org'
/** Sites that keep good time and answer HEAD cheaply. */
const timeSites = ['https://letsencrypt.org/', 'https://www.debian.org/', 'https://www.wikipedia.org/'] as const

/** The `Date` of several sites (RFC 9110 §6.6.1); the median counts, so that one wrong clock does not. */
export async function checkHttpClock({ outside, now }: MachineDeps): Promise<CheckOutcome> {
  if (outside.isSimulated) return skip('clock', 'dev mode: nobody outside is asked')
  const asked = await Promise.all(timeSites.map(site => askSite(site, { fetch: outside.fetch, now })))
  const offsets = asked.filter(offset => offset !== undefined).toSorted((left, right) => left - right)
  const median = offsets[Math.floor(offsets.length / 2)]
  if (median === undefined) return skip('clock', `none of ${timeSites.length} sites told its time`)
  return about('clock', judgeClock(median, `${offsets.length} web sites`))
}

export async function checkNtpClock({ outside, now }: MachineDeps): Promise<CheckOutcome> {
  if (outside.isSimulated) return skip('clock', 'dev mode: nobody outside is asked')
  const offset = await askTimeServer(outside.locate(timeServer, 123), now)
  if (offset === undefined) return skip('clock', `${timeServer} does not answer (UDP port 123)`)
  return about('clock', judgeClock(offset, timeServer))
}

interface Asking {
  readonly fetch: GuardedFetch
  now(): number
}

/** How far our clock is ahead, ms. `Date` has no fractions: on average it is half a second late. */
async function askSite(site: string, { fetch, now }: Asking): Promise<number | undefined> {
  const begun = now()
  const answer = await fetch(site, { method: 'HEAD', timeoutMs: 5_000 }).catch(() => undefined)
  const theirs = Date.parse(answer?.headers.get('date') ?? '')
  return Number.isFinite(theirs) ? Math.round((begun + now()) / 2 - (theirs + 500)) : undefined
}

/** Signatures carry the time: of HTTP requests, DKIM `t=`, tokens, signed webhooks. */
function judgeClock(offset: number, by: string): Verdict {
  const fix = 'Let the machine keep its time by NTP (systemd-timesyncd or chrony).'
  const seconds = Math.abs(offset / 1000).toFixed(1)
  if (Math.abs(offset) <= toleranceMs) return ok(`the clock is right to ${seconds} s by ${by}`)
  const direction = offset > 0 ? 'fast' : 'slow'
  return failure(`the clock is ${seconds} s ${direction} by ${by}: receivers refuse our signatures`, fix)
}
