import type { ChannelContext } from '@postern/core'
import { randomHex } from '@postern/core'
import type { AddressTokens } from './address-tokens.ts'
import { createAddressTokens } from './address-tokens.ts'

/** Opens the tokens of this gateway once; their key is made once and durable before the first use. */
export function createTokenKey({
  store,
  platform,
  agents,
}: Pick<ChannelContext, 'store' | 'platform' | 'agents'>): () => Promise<AddressTokens> {
  let opened: Promise<AddressTokens> | undefined
  const open = async () => {
    const key = await store.secret('email-address-tokens', async () => randomHex(platform, 32))
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
