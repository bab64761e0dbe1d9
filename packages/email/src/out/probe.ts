import type { AgentDirectory, ChannelContext } from '@postern/core'
import { isoTime, randomHex, Undeliverable } from '@postern/core'
import type { DkimSigner } from '../dkim/own-keys.ts'
import type { AddressTokens } from '../mail/addresses.ts'
import { hopField } from '../mail/addresses.ts'

interface Probing {
  readonly platform: ChannelContext['platform']
  readonly agents: AgentDirectory
  readonly signer: DkimSigner
  openTokens(): Promise<AddressTokens>
}

/**
 * A mail from the default agent to itself, signed and handed over like every other. It is known as our own when it comes back, and goes to no agent.
 * @throws Unavailable, Undeliverable
 */
export async function sendProbe({ platform, agents, signer, openTokens }: Probing): Promise<string> {
  const agent = agents.defaultAgent ?? agents.list()[0]?.name
  if (!agent) throw new Undeliverable('Cannot send mail: there is no agent')
  const address = `${agent}@${agents.domain}`
  const nonce = randomHex(platform, 16)
  const id = `probe-${nonce}@${agents.domain}`
  const now = isoTime(platform.now())
  const tokens = await openTokens()
  const message = [
    `From: ${address}`,
    `To: ${address}`,
    'Subject: A mail to ourselves',
    `Date: ${new Date(now).toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${id}>`,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=us-ascii',
    'Auto-Submitted: auto-generated',
    `${hopField}: ${tokens.formatHop(agent, { hop: 1 }, nonce)}`,
    '',
    'It shows whether mail leaves, comes back and is believed. Nobody reads it.',
    '',
  ].join('\r\n')
  await platform.submitMail({ from: address, to: [address] }, await signer.sign(Buffer.from(message), now))
  return id
}
