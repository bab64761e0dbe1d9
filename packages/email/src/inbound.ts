// Joins the steps of incoming mail: verify, then normalize.

import type { Inbound } from '@postern/pipeline'
import type { ProvenMail } from './authenticate/proven-mail.ts'
import type { RawMail } from './mail/raw-mail.ts'
import type { NormalizeMailDeps } from './normalize.ts'
import { normalizeMail } from './normalize.ts'
import type { AddressTokens } from './tokens/address-tokens.ts'
import type { VerifyMailDeps } from './verify.ts'
import { verifyMail } from './verify.ts'

interface MailInboundDeps
  extends Omit<VerifyMailDeps, 'tokens' | 'steps'>,
    Pick<NormalizeMailDeps, 'config' | 'maxHops'> {
  openTokens(): Promise<AddressTokens>
}

/** Creates the inbound side of the channel. */
export function createMailInbound({
  config,
  maxHops,
  openTokens,
  ...verifyDeps
}: MailInboundDeps): Inbound<RawMail, ProvenMail> {
  const { agents } = verifyDeps.gateway
  // The tokens are opened with the first mail, so that `normalize` can stay synchronous.
  let tokens: AddressTokens | undefined
  return {
    name: 'email',
    async verify(raw, steps) {
      tokens ??= await openTokens()
      return verifyMail(raw, { ...verifyDeps, tokens, steps })
    },
    normalize(mail) {
      if (!tokens) throw new Error('Cannot normalize a mail that was not verified')
      return normalizeMail(mail, { agents, tokens, config, maxHops })
    },
  }
}
