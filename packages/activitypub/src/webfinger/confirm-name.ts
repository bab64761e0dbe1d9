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
  readonly webFinger: WebFinger
  isBlocked(host: string): boolean
}

const unconfirmedName: ConfirmedName = { address: undefined }

/** Confirms the name of an actor. The domain of the name may differ from the actor's host. In that case, the domain must confirm the name too. */
export async function confirmName(
  { id, host, username }: RemoteActor,
  { webFinger, isBlocked }: ConfirmDeps,
): Promise<ConfirmedName> {
  const claimedAddress = username ? parseIfAddress(`${username}@${host}`) : undefined
  if (!claimedAddress) return unconfirmedName
  const response = await webFinger.find(claimedAddress)
  const confirmedAddress = parseIfAddress(response.subject ?? '')
  if (response.actor !== id || confirmedAddress?.local !== claimedAddress.local) return unconfirmedName
  if (confirmedAddress.domain === claimedAddress.domain) return { address: formatAddress(confirmedAddress) }
  if (isBlocked(confirmedAddress.domain)) return { ...unconfirmedName, isBlocked: true }
  webFinger.limitRequest(host, confirmedAddress.domain)
  const domainResponse = await webFinger.find(confirmedAddress)
  const repeatedAddress = parseIfAddress(domainResponse.subject ?? '')
  const isConfirmed =
    domainResponse.actor === id &&
    repeatedAddress?.local === confirmedAddress.local &&
    repeatedAddress.domain === confirmedAddress.domain
  return isConfirmed ? { address: formatAddress(confirmedAddress) } : unconfirmedName
}

/** Returns no name for a failure of the peer, because a peer that does not answer, or answers nonsense, confirms nothing. */
export function toUnconfirmedName(error: unknown): ConfirmedName {
  if (error instanceof Unavailable || error instanceof Undeliverable || error instanceof Rejection)
    return unconfirmedName
  throw error
}

export async function findActorIri(address: Address, webFinger: WebFinger): Promise<string | undefined> {
  try {
    return (await webFinger.find(address)).actor
  } catch (error) {
    if (!(error instanceof Rejection) || error.code === 'rate_limited') throw error
    throw new Undeliverable('Cannot look up address: the answer cannot be read', { cause: error })
  }
}
