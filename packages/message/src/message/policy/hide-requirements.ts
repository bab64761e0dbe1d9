// Removes from a document what decides a requirement, for readers who may not decide it.

import type { Json } from '../../format/json.ts'
import type { Part } from '../part.ts'
import { isForOperator } from './policy-kinds.ts'

/** Tells whether one of the parts is a requirement that only its sender may decide. */
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
