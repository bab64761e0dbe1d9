import type { House, Policy } from '@postern/core'
import { operatorSubject, subjectOf } from '@postern/core'
import type { TranscriptEntry } from '@postern/transcript'
import { senderOfKey } from './owner.ts'

/** What an agent still waits for, with the address by which its person decides it. */
export interface ShownDemand {
  readonly id: string
  readonly kind: Policy['kind']
  readonly url: string
  readonly expires_at?: string | undefined
}

/** Of what was demanded of this owner himself, and only as long as it can be decided. */
export async function showOpenDemands(
  entry: Pick<TranscriptEntry, 'content'>,
  owner: string,
  house: Pick<House, 'desk' | 'showDemand'>,
): Promise<readonly ShownDemand[]> {
  const open = await listOpenPolicies([entry], owner, house)
  return open.flatMap(({ demand, kind, url, expires_at }) => {
    if (typeof url !== 'string') return []
    const until = typeof expires_at === 'string' ? { expires_at } : {}
    return [{ id: String(demand), kind, url, ...until }]
  })
}

/** As they are shown to him, oldest first; what an operator decides here he waits for, too, and has no address for it. */
export async function listOpenPolicies(
  entries: readonly Pick<TranscriptEntry, 'content'>[],
  owner: string,
  { desk, showDemand }: Pick<House, 'desk' | 'showDemand'>,
): Promise<readonly Policy[]> {
  const parts = entries.flatMap(({ content }) => ('parts' in content ? content.parts : []))
  const policies = parts.flatMap(part => (part.kind === 'policy' && part.policy.demand ? [part.policy] : []))
  if (policies.length === 0 || !showDemand) return []
  const subjects = [subjectOf(senderOfKey(owner)), operatorSubject]
  const found = await Promise.all(policies.map(({ demand }) => desk.findDemand({ id: String(demand) })))
  const open = policies.filter((_, index) => {
    const demand = found[index]
    return demand?.status === 'open' && subjects.includes(demand.subject)
  })
  return open.map(showDemand)
}
