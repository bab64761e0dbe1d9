// Reads A2A cards for `postern resolve`, as a caller would.
import { findCard, readInterface, verifyCard } from '@postern/a2a'
import type { System } from '@postern/message'
import type { CardReader } from '@postern/operator'

/** Trusts only the card’s own origin, as a stranger does. */
const isAllowedOrigin = () => false

export function createCardReader(system: Pick<System, 'fetch' | 'now'>): CardReader {
  return {
    find: address => findCard(address, system),
    readInterface: card => readInterface(card, isAllowedOrigin),
    verify: card => verifyCard(card, { system, isAllowedOrigin }),
  }
}
