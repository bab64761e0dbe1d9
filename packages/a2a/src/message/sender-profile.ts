import type { IdentityEvidence, SenderProfile } from '@postern/core'
import { isObject } from '../validate/shape.ts'

const members = ['display_name', 'username', 'locale', 'timezone'] as const
const maxLength = 200

/**
 * How the platform whose connector provides evidence shows this person (MN-2.2, MN-6.5). It uses valid evidence, and for display only.
 * Undefined if no evidence names it.
 */
export function readProfile(accepted: readonly IdentityEvidence[]): SenderProfile | undefined {
  for (const { claims = {}, subject } of accepted) {
    const { profile, platform } = claims
    if (!isObject(profile)) continue
    const shown = members.flatMap(name => listText(name, profile[name]))
    const provider = isObject(platform) ? listText('provider', platform.provider) : []
    return Object.fromEntries([...shown, ...provider, ['provider_subject', subject]])
  }
  return undefined
}

function listText(name: string, value: unknown): readonly (readonly [string, string])[] {
  const text =
    typeof value === 'string'
      ? value
          .replace(/\p{Cc}+/gu, ' ')
          .trim()
          .slice(0, maxLength)
      : ''
  return text === '' ? [] : [[name, text]]
}
