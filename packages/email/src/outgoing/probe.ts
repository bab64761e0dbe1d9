// Sends a test mail that leaves the gateway and returns to it.
import { isoTime, randomHex, Undeliverable } from '@postern/message'
import type { AgentDirectory, ChannelContext } from '@postern/pipeline'
import type { DkimSigner } from '../signing/signer.ts'
import type { AddressTokens } from '../tokens/address-tokens.ts'
import { hopField } from '../tokens/hop-field.ts'

interface ProbeDeps {
  readonly system: ChannelContext['system']
  readonly agents: AgentDirectory
  readonly signer: DkimSigner
  openTokens(): Promise<AddressTokens>
}

/**
 * Sends a mail from the default agent to itself, signed and submitted like any other. The gateway recognizes the
 * returning mail, and shows it to no agent. Returns the Message-ID.
 * @throws Unavailable, Undeliverable
 */
export async function sendProbe({ system, agents, signer, openTokens }: ProbeDeps): Promise<string> {
  const agent = agents.defaultAgent ?? agents.list()[0]?.name
  if (!agent) throw new Undeliverable('Cannot send mail: there is no agent')
  const address = `${agent}@${agents.domain}`
  const nonce = randomHex(system, 16)
  const messageId = `probe-${nonce}@${agents.domain}`
  const now = isoTime(system.now())
  const tokens = await openTokens()
  const message = [
    `From: ${address}`,
    `To: ${address}`,
    'Subject: A mail to ourselves',
    `Date: ${new Date(now).toUTCString().replace('GMT', '+0000')}`,
    `Message-ID: <${messageId}>`,
    'MIME-Version: 1.0',
    'Content-Type: text/plain; charset=us-ascii',
    'Auto-Submitted: auto-generated',
    `${hopField}: ${tokens.formatHop(agent, { hop: 1 }, nonce)}`,
    '',
    'It shows whether mail leaves, comes back and is believed. Nobody reads it.',
    '',
  ].join('\r\n')
  await system.submitMail({ from: address, to: [address] }, await signer.sign(Buffer.from(message), now))
  return messageId
}
