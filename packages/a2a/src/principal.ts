import { hash } from 'node:crypto'
import type { AuthMethod, Proof } from '@postern/core'
import { formatAddress, parseAddress } from '@postern/core'

declare const proven: unique symbol

/** Who calls, proven by the transport. Only `authenticate` makes one. */
export interface Caller {
  readonly [proven]: true
  /** Key of everything that is theirs; distinct for distinct (iss, sub). */
  readonly owner: string
  readonly isAnonymous: boolean
  /** `@local@host`, made from the principal alone. */
  readonly address: string
  readonly authMethod: Extract<AuthMethod, 'a2a-jwt' | 'a2a-oauth' | 'none'>
  readonly subject: string
  readonly issuer: string
  readonly keyId?: string | undefined
  readonly proof: Proof
}

/** The claim that names the principal, and its value. */
export interface Principal {
  readonly issuer: string
  readonly claim: 'sub' | 'client_id'
  readonly value: string
}

/** Neither an issuer nor a claim's name holds a blank, so two principals never share a key. */
export function ownerOf({ issuer, claim, value }: Principal): string {
  return `${issuer} ${claim} ${value}`
}

const plainLocal = /^[a-z0-9]([a-z0-9._-]{0,62}[a-z0-9])?$/

/**
 * An address for a principal: `sub` itself where it is a plain name, or already an address at the issuer's host; else
 * a readable slug with a digest. The `~` in it keeps the two kinds apart. Where several trusted issuers share a host (realms
 * of one server), a name there may be another person at each: then it is always a slug, with the issuer in its digest.
 */
export function addressOf(principal: Principal, { isHostShared = false } = {}): string {
  const { issuer, claim, value } = principal
  const domain = new URL(issuer).hostname
  if (isHostShared) return formatAddress({ local: slugOf(principal, ownerOf(principal)), domain })
  const own = claim === 'sub' ? (plainLocal.exec(value)?.[0] ?? localAt(value, domain)) : undefined
  return formatAddress({ local: own ?? slugOf(principal, `${claim} ${value}`), domain })
}

function localAt(value: string, host: string): string | undefined {
  if (!value.toLowerCase().endsWith(`@${host}`)) return undefined
  try {
    const { local, domain } = parseAddress(value)
    return domain === host && plainLocal.test(local) ? local : undefined
  } catch {
    return undefined
  }
}

function slugOf({ value }: Principal, distinct: string): string {
  const slug = value
    .toLowerCase()
    .replace(/[^a-z0-9]+/g, '-')
    .replace(/^-|-$/g, '')
    .slice(0, 40)
  return `${slug || 'caller'}~${hash('sha256', distinct).slice(0, 12)}`
}
