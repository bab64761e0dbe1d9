import type { ChannelContext, Policy } from '@postern/core'
import { operatorSubject, subjectOf } from '@postern/core'
import type { TranscriptEntry } from '@postern/transcript'
import { senderOfKey } from '../identity/speaker.ts'

/** What an agent still waits for, with the address where its person decides. */
export interface OpenRequirementView {
  readonly id: string
  readonly kind: Policy['kind']
  readonly url: string
  readonly expires_at?: string | undefined
}

/** The requirements of this owner alone, while they can still be decided. */
export async function showOpenRequirements(
  entry: Pick<TranscriptEntry, 'content'>,
  owner: string,
  gateway: Pick<ChannelContext, 'store' | 'showRequirement'>,
): Promise<readonly OpenRequirementView[]> {
  const open = await listOpenPolicies([entry], owner, gateway)
  return open.flatMap(({ requirement, kind, url, expires_at }) => {
    if (typeof url !== 'string') return []
    const until = typeof expires_at === 'string' ? { expires_at } : {}
    return [{ id: String(requirement), kind, url, ...until }]
  })
}

/** As the owner sees them, oldest first. They also wait for decisions of an operator, which have no address here. */
export async function listOpenPolicies(
  entries: readonly Pick<TranscriptEntry, 'content'>[],
  owner: string,
  { store, showRequirement }: Pick<ChannelContext, 'store' | 'showRequirement'>,
): Promise<readonly Policy[]> {
  const parts = entries.flatMap(({ content }) => ('parts' in content ? content.parts : []))
  const policies = parts.flatMap(part => (part.kind === 'policy' && part.policy.requirement ? [part.policy] : []))
  if (policies.length === 0 || !showRequirement) return []
  const subjects = [subjectOf(senderOfKey(owner)), operatorSubject]
  const found = await Promise.all(policies.map(({ requirement }) => store.findRequirement({ id: String(requirement) })))
  const open = policies.filter((_, index) => {
    const requirement = found[index]
    return requirement?.status === 'open' && subjects.includes(requirement.subject)
  })
  return open.map(showRequirement)
}
