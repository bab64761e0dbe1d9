// Writes the requirements of a response for the sender who decides them.

import type { NormalizedMessage } from '../message.ts'
import type { Part, Policy } from '../part.ts'
import type { NormalizedResponse } from '../response.ts'

/** A policy in the form for its addressee: with the state and the address for their decision. */
export type ShowRequirement = (policy: Policy) => Policy

/** Only for documents that go to the sender and nobody else. */
export function showRequirements(parts: readonly Part[], show: ShowRequirement | undefined): readonly Part[] {
  return show ? mapPolicies(parts, show) : parts
}

function mapPolicies(parts: readonly Part[], change: (policy: Policy) => Policy): readonly Part[] {
  if (!parts.some(part => part.kind === 'policy')) return parts
  return parts.map(part => (part.kind === 'policy' ? { kind: 'policy', policy: change(part.policy) } : part))
}

/** In the language of whom it is for, as far as it was said in it. */
function translatePolicies(parts: readonly Part[], locale: string | undefined): readonly Part[] {
  return locale === undefined ? parts : mapPolicies(parts, policy => translatePolicy(policy, [locale]))
}

/** By the first of these languages there is: `de-AT`, then `de`. */
export function translatePolicy(policy: Policy, locales: readonly string[]): Policy {
  const { message_translations: translations = {} } = policy
  const names = new Map(Object.keys(translations).map(name => [name.toLowerCase(), name]))
  for (const locale of locales.map(name => name.toLowerCase().replaceAll('_', '-'))) {
    const name = names.get(locale) ?? names.get(locale.split('-')[0] ?? '')
    const words = name === undefined ? undefined : translations[name]
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
