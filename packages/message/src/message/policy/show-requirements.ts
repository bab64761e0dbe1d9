// Presents the requirements of a response to the sender who decides them.

import type { NormalizedMessage } from '../message.ts'
import type { Part, Policy } from '../part.ts'
import type { NormalizedResponse } from '../response.ts'

/** A function that returns a policy in the form for the person who decides, with the state and the address for the decision. */
export type ShowRequirement = (policy: Policy) => Policy

/** Returns parts with their requirements in the form for the sender. Use it only for documents that nobody else gets. */
export function showRequirements(parts: readonly Part[], show: ShowRequirement | undefined): readonly Part[] {
  return show ? mapPolicies(parts, show) : parts
}

function mapPolicies(parts: readonly Part[], change: (policy: Policy) => Policy): readonly Part[] {
  if (!parts.some(part => part.kind === 'policy')) return parts
  return parts.map(part => (part.kind === 'policy' ? { kind: 'policy', policy: change(part.policy) } : part))
}

/** Returns parts with their policies in a language, as far as they are translated into it. */
function translatePolicies(parts: readonly Part[], locale: string | undefined): readonly Part[] {
  return locale === undefined ? parts : mapPolicies(parts, policy => translatePolicy(policy, [locale]))
}

/** Returns a policy in the first of these languages that it has. Each language is also tried without its region: `de-AT`, then `de`. */
export function translatePolicy(policy: Policy, locales: readonly string[]): Policy {
  const { message_translations: translations = {} } = policy
  const names = new Map(Object.keys(translations).map(name => [name.toLowerCase(), name]))
  for (const locale of locales.map(name => name.toLowerCase().replaceAll('_', '-'))) {
    const name = names.get(locale) ?? names.get(locale.split('-')[0] ?? '')
    const translation = name === undefined ? undefined : translations[name]
    if (translation)
      return {
        ...policy,
        ...(translation.title !== undefined && { title: translation.title }),
        message: translation.message,
      }
  }
  return policy
}

/** Returns a response in the form for the sender of its message. */
export function presentResponse(
  response: NormalizedResponse,
  { sender }: Pick<NormalizedMessage, 'sender'>,
  show: ShowRequirement | undefined,
): NormalizedResponse {
  if (!response.parts.some(part => part.kind === 'policy')) return response
  const parts = translatePolicies(showRequirements(response.parts, show), sender.profile?.locale)
  return { ...response, parts: [...parts] }
}
