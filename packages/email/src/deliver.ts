import type { AgentDirectory, ChannelContext, Delivery, Transmitted } from '@postern/core'
import { isoTime, Undeliverable } from '@postern/core'
import { encodeMail } from './out/compose/encode.ts'
import type { MailWire } from './out/compose/wire.ts'
import type { DkimSigner } from './out/dkim/signer.ts'
import { giveToLocalAgent } from './out/local-agent.ts'
import { recordSuppression } from './out/suppression/record.ts'
import { unaskedPeer } from './out/suppression/unsubscribe.ts'
import type { AddressTokens } from './tokens/address-tokens.ts'

const dayMs = 24 * 3_600_000

interface MailDelivering {
  readonly gateway: Pick<ChannelContext, 'admission' | 'store' | 'platform'>
  readonly agents: AgentDirectory
  readonly signer: DkimSigner
  readonly config: { readonly reply_tokens: boolean }
  openTokens(): Promise<AddressTokens>
}

/**
 * Encodes, signs and hands over to the smarthost. Each mail has its own envelope sender, so a bounce names its delivery
 * (VERP). Sent means that the smarthost accepted the mail.
 * @throws Unavailable, Undeliverable
 */
export async function deliverMail(
  wire: MailWire,
  delivery: Delivery,
  delivering: MailDelivering,
): Promise<Transmitted> {
  const { gateway, signer } = delivering
  const tokens = await delivering.openTokens()
  const message = await encodeMail(wire, markMail(wire, delivery, delivering, tokens), gateway.store)
  if (wire.localAgent) return giveToLocalAgent({ message, wire, delivery, localAgent: wire.localAgent }, delivering)
  await refuseSuppressed(delivery, wire, gateway)
  const signed = await signer.sign(message, chooseSigningTime(wire, delivery))
  const from = tokens.bounceAddress(delivery.agent, delivery.id)
  try {
    const { response, reply } = await gateway.platform.submitMail({ ...wire.envelope, from }, signed)
    return { note: response, ...reply }
  } catch (error) {
    if (error instanceof Undeliverable && error.isDeadAddress) await suppress(wire, delivery, error, delivering)
    throw error
  }
}

/** Refused at once as it would be by a report: nothing more is sent there, for the good name of everything else. */
async function suppress(
  { envelope: { to } }: MailWire,
  { agent, id }: Delivery,
  { message }: Undeliverable,
  { gateway, agents }: MailDelivering,
): Promise<void> {
  const [peer = ''] = to
  const effect = { kind: 'relate', relation: 'suppressed', peer, target: message } as const
  const words = `No more mail to ${peer}: ${message}.`
  await recordSuppression({ agent, id: `refused:${id}`, words, flag: 'bounce_hard', effect }, { ...gateway, agents })
}

/**
 * The instant of the mail, so that each try sends the same octets. A mail that is resumed after days, beyond the life
 * of its signature, gets the instant of that try.
 */
function chooseSigningTime({ date }: MailWire, { queuedAt }: Delivery): string {
  return queuedAt > Date.parse(date) + dayMs ? isoTime(queuedAt) : date
}

function markMail(wire: MailWire, { agent }: Delivery, { agents, config }: MailDelivering, tokens: AddressTokens) {
  const [id = ''] = wire.messageId.split('@')
  const tag = wire.replyTo?.split('@')[0]?.slice(agent.length + 1)
  const plan = { response: id, tag, at: Date.parse(wire.date) }
  const own = config.reply_tokens ? tokens.replyAddress(agent, plan) : undefined
  const [mailbox = ''] = wire.envelope.to
  const unsubscribeUrl =
    wire.isLetter && agents.origin.startsWith('https:')
      ? `${agents.origin}/email/unsubscribe/${agent}/${tokens.formatUnsubscription({ agent, mailbox })}`
      : undefined
  return { replyTo: own ?? wire.replyTo, hop: tokens.formatHop(agent, wire, id), unsubscribeUrl }
}

/** Mail that bounces or gets complaints is suppressed: it harms the reputation of all other mail. */
async function refuseSuppressed(
  { agent }: Delivery,
  { envelope, isLetter }: MailWire,
  { store }: Pick<ChannelContext, 'store'>,
): Promise<void> {
  const [peer = ''] = envelope.to
  const find = (to: string) => store.findRelation({ via: 'email', agent, relation: 'suppressed', peer: to })
  const found = (await find(peer)) ?? (isLetter ? await find(unaskedPeer(peer)) : undefined)
  if (!found) return
  const reason = typeof found.target === 'string' ? found.target : 'suppressed'
  throw new Undeliverable(`Cannot send mail: this address is suppressed (${reason})`)
}
