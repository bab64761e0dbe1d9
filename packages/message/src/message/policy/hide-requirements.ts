// Removes the states and addresses of requirements from documents for readers who may not decide them.

import type { Json } from '../../format/json.ts'
import type { Part } from '../part.ts'
import { isForOperator } from './policy-kinds.ts'

/** Returns true if one of the parts is a requirement that only the sender of the message may decide. */
export function hasRequirements(parts: readonly Part[]): boolean {
  return parts.some(
    part => part.kind === 'policy' && typeof part.policy.requirement === 'string' && !isForOperator(part.policy),
  )
}

const actionAddress = /(\/actions\/)[\w-]{43}(?![\w-])/g

const stateMembers: ReadonlySet<string> = new Set(['state', 'in_reply_to_state'])

/** Returns a document that others may store and see: without the states and addresses by which a requirement is decided. */
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
