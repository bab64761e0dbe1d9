import type { House, Policy } from '@postern/core'
import { subjectOf } from '@postern/core'
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
  { content }: Pick<TranscriptEntry, 'content'>,
  owner: string,
  { desk, showDemand }: Pick<House, 'desk' | 'showDemand'>,
): Promise<readonly ShownDemand[]> {
  const parts = 'parts' in content ? content.parts : []
  const policies = parts.flatMap(part => (part.kind === 'policy' && part.policy.demand ? [part.policy] : []))
  if (policies.length === 0 || !showDemand) return []
  const subject = subjectOf(senderOfKey(owner))
  const shown = await Promise.all(
    policies.map(async policy => {
      const demand = await desk.findDemand({ id: String(policy.demand) })
      const isOpen = demand?.status === 'open' && demand.subject === subject
      const { url, expires_at } = showDemand(policy)
      if (!isOpen || typeof url !== 'string') return []
      const until = typeof expires_at === 'string' ? { expires_at } : {}
      return [{ id: String(policy.demand), kind: policy.kind, url, ...until }]
    }),
  )
  return shown.flat()
}
