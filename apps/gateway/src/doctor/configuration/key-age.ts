import type { PublishedKey } from '@postern/core'
import type { Verdict } from '../../checks/finding.ts'
import { ok, warning } from '../../checks/finding.ts'

const dayMs = 86_400_000
/** A year, and a month of grace. */
const oldDays = 396

/** Whether the newest key of each purpose is younger than about a year (M3AAWG asks for twice a year for mail). */
export function judgeKeyAge(keys: readonly PublishedKey[], now: number): Verdict {
  const newest = new Map<string, number>()
  for (const { purpose, madeAt } of keys) {
    if (madeAt === undefined) continue
    newest.set(purpose, Math.max(newest.get(purpose) ?? 0, Date.parse(madeAt)))
  }
  const [[purpose, at] = ['', now]] = [...newest].toSorted(([, left], [, right]) => left - right)
  const days = Math.floor((now - at) / dayMs)
  return days > oldDays
    ? warning(
        `the key for "${purpose}" is ${days} days old`,
        'Run "postern keys rotate", and publish the new DNS records.',
      )
    : ok(`the oldest key in use is ${days} days old`)
}
