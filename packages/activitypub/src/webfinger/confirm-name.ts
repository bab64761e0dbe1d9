// Confirms the name of an actor at the host of the actor and at the domain of the name.

import type { Address } from '@postern/message'
import { formatAddress, parseIfAddress, Rejection, Unavailable, Undeliverable } from '@postern/message'
import type { RemoteActor } from '../peers/actor-document.ts'
import type { WebFinger } from './webfinger.ts'

/** The confirmed handle of an actor. */
export interface ConfirmedName {
  readonly address: string | undefined
  readonly isBlocked?: true
}

interface ConfirmDeps {
  readonly lookup: WebFinger
  isBlocked(host: string): boolean
}

const withheld: ConfirmedName = { address: undefined }

/** Confirms the name of an actor. The domain of the name may differ from the actor's host. In that case, the domain must give the same answer. */
export async function confirmName(
  { id, host, username }: RemoteActor,
  { lookup, isBlocked }: ConfirmDeps,
): Promise<ConfirmedName> {
  const asked = username ? parseIfAddress(`${username}@${host}`) : undefined
  if (!asked) return withheld
  const first = await lookup.find(asked)
  const confirmedAddress = parseIfAddress(first.subject ?? '')
  if (first.actor !== id || confirmedAddress?.local !== asked.local) return withheld
  if (confirmedAddress.domain === asked.domain) return { address: formatAddress(confirmedAddress) }
  if (isBlocked(confirmedAddress.domain)) return { ...withheld, isBlocked: true }
  lookup.countElsewhere(host, confirmedAddress.domain)
  const second = await lookup.find(confirmedAddress)
  const repeated = parseIfAddress(second.subject ?? '')
  const isSame =
    second.actor === id && repeated?.local === confirmedAddress.local && repeated.domain === confirmedAddress.domain
  return isSame ? { address: formatAddress(confirmedAddress) } : withheld
}

/** Returns no name after a failure of the peer: a peer that does not answer, or answers nonsense, confirms nothing. */
export function withholdName(error: unknown): ConfirmedName {
  if (error instanceof Unavailable || error instanceof Undeliverable || error instanceof Rejection) return withheld
  throw error
}

export async function askForActor(address: Address, lookup: WebFinger): Promise<string | undefined> {
  try {
    return (await lookup.find(address)).actor
  } catch (error) {
    if (!(error instanceof Rejection) || error.code === 'rate_limited') throw error
    throw new Undeliverable('Cannot look up address: the answer cannot be read', { cause: error })
  }
}
