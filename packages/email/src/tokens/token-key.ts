import type { House } from '@postern/core'
import { randomHex } from '@postern/core'
import type { AddressTokens } from './address-tokens.ts'
import { createAddressTokens } from './address-tokens.ts'

/** Opens the tokens of this gateway once; their key is made once and durable before the first use. */
export function createTokenKey({
  desk,
  world,
  agents,
}: Pick<House, 'desk' | 'world' | 'agents'>): () => Promise<AddressTokens> {
  let opened: Promise<AddressTokens> | undefined
  const open = async () => {
    const key = await desk.secret('email-address-tokens', async () => randomHex(world, 32))
    return createAddressTokens(key, agents.domain)
  }
  return () => {
    opened ??= open()
    opened.catch(() => {
      opened = undefined
    })
    return opened
  }
}
