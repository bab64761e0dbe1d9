import type { Json } from '../format/json.ts'
import type { NormalizedMessage } from '../message/message.ts'
import type { Part, Policy } from '../message/part.ts'
import { approvalMember } from '../message/policy/approval.ts'
import { isForOperator } from '../message/policy/approver.ts'
import type { NormalizedResponse } from '../message/response.ts'
import type { ShowRequirement } from '../ports/agent/show-requirement.ts'
import type { RequirementDeps } from '../ports/requirement-store.ts'
import { actionUrl } from './requirement-list.ts'

export function createShowRequirement(gateway: Pick<RequirementDeps, 'origin' | 'stateOf'>): ShowRequirement {
  return policy => {
    if (typeof policy.requirement !== 'string') return policy
    if (isForOperator(policy)) return withoutCall(policy)
    const state = gateway.stateOf(policy.requirement)
    return { ...policy, state, url: policy.url ?? actionUrl(gateway, state) }
  }
}

/** A sender who waits for an operator sees only that; the operator's view is not for them. */
function withoutCall({ data, ...policy }: Policy): Policy {
  const { [approvalMember]: _, ...rest } = data ?? {}
  return Object.keys(rest).length > 0 ? { ...policy, data: rest } : policy
}

/** Only for documents that go to the sender and nobody else. */
export function showRequirements(parts: readonly Part[], show: ShowRequirement | undefined): readonly Part[] {
  if (!show || !parts.some(part => part.kind === 'policy')) return parts
  return parts.map(part => (part.kind === 'policy' ? { kind: 'policy', policy: show(part.policy) } : part))
}

/** In the language of whom it is for, as far as it was said in it. */
function translatePolicies(parts: readonly Part[], locale: string | undefined): readonly Part[] {
  if (locale === undefined || !parts.some(part => part.kind === 'policy')) return parts
  return parts.map(part =>
    part.kind === 'policy' ? { kind: 'policy', policy: translatePolicy(part.policy, [locale]) } : part,
  )
}

/** By the first of these languages there is: `de-AT`, then `de`. */
export function translatePolicy(policy: Policy, locales: readonly string[]): Policy {
  const { message_translations: known = {} } = policy
  const names = new Map(Object.keys(known).map(name => [name.toLowerCase(), name]))
  for (const locale of locales.map(name => name.toLowerCase().replaceAll('_', '-'))) {
    const name = names.get(locale) ?? names.get(locale.split('-')[0] ?? '')
    const words = name === undefined ? undefined : known[name]
    if (words) return { ...policy, ...(words.title !== undefined && { title: words.title }), message: words.message }
  }
  return policy
}

/** A response as its message's sender is to read it. */
export function presentResponse(
  response: NormalizedResponse,
  { sender }: Pick<NormalizedMessage, 'sender'>,
  show: ShowRequirement | undefined,
): NormalizedResponse {
  if (!response.parts.some(part => part.kind === 'policy')) return response
  const parts = translatePolicies(showRequirements(response.parts, show), sender.profile?.locale)
  return { ...response, parts: [...parts] }
}

/** Whether there is something in it that only its sender may decide. */
export function hasRequirements(parts: readonly Part[]): boolean {
  return parts.some(
    part => part.kind === 'policy' && typeof part.policy.requirement === 'string' && !isForOperator(part.policy),
  )
}

const actionAddress = /(\/actions\/)[\w-]{43}(?![\w-])/g
const stateMembers: ReadonlySet<string> = new Set(['state', 'in_reply_to_state'])

/** A document as others may keep it and see it: without what decides a requirement. */
export function hideRequirements(json: Json): Json {
  if (typeof json === 'string') return json.includes('/actions/') ? json.replace(actionAddress, '$1…') : json
  if (Array.isArray(json)) return json.map(hideRequirements)
  if (typeof json !== 'object' || json === null) return json
  const members = Object.entries(json).map(([name, value]) => {
    const isState = stateMembers.has(name) && typeof value === 'string' && /^[\w-]{43}$/.test(value)
    return [name, isState ? '…' : hideRequirements(value ?? null)]
  })
  return Object.fromEntries(members)
}
