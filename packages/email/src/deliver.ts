// Encodes and signs a mail, and hands it to the smarthost.

import { isoTime, Undeliverable } from '@postern/message'
import type { AgentDirectory, ChannelContext, Delivery, TransmitResult } from '@postern/pipeline'
import { createSender } from '@postern/pipeline'
import { addressMail } from './outgoing/address-mail.ts'
import { encodeMail } from './outgoing/encode-mail.ts'
import { deliverToLocalAgent } from './outgoing/local-agent.ts'
import type { OutgoingMail } from './outgoing/outgoing-mail.ts'
import { recordSuppression, unsolicitedMailKey } from './outgoing/suppression.ts'
import type { RenderMailDeps } from './render.ts'
import { describeMail, renderMail } from './render.ts'
import type { DkimSigner } from './signing/signer.ts'
import { emailDescriptor } from './speaker.ts'
import type { AddressTokens } from './tokens/address-tokens.ts'

const dayMs = 24 * 3_600_000

interface DeliverMailDeps {
  readonly gateway: Pick<ChannelContext, 'admission' | 'store' | 'system'>
  readonly agents: AgentDirectory
  readonly signer: DkimSigner
  readonly config: { readonly reply_tokens: boolean }
  openTokens(): Promise<AddressTokens>
}

/** Creates the sender of mail, which addresses, renders and delivers responses. */
export function createMailSender(renderDeps: RenderMailDeps, deliverDeps: DeliverMailDeps) {
  const { agents, maxHops } = renderDeps
  return createSender({
    descriptor: emailDescriptor,
    address: turn => addressMail(turn, agents, maxHops),
    render: delivery => renderMail(delivery, renderDeps),
    describe: describeMail,
    deliver: (mail, delivery) => deliverMail(mail, delivery, deliverDeps),
  })
}

/**
 * Encodes and signs a mail, and hands it to the smarthost. Each mail has its own envelope sender, so a bounce names its
 * delivery (VERP). A mail counts as sent when the smarthost has accepted it.
 * @throws Unavailable, Undeliverable
 */
async function deliverMail(mail: OutgoingMail, delivery: Delivery, deps: DeliverMailDeps): Promise<TransmitResult> {
  const { gateway, signer } = deps
  const tokens = await deps.openTokens()
  const message = await encodeMail(mail, createTokenFields(mail, delivery, deps, tokens), gateway.store)
  if (!mail.localAgent) await refuseSuppressed(delivery, mail, gateway)
  const signedMail = await signer.sign(message, chooseSigningTime(mail, delivery))
  if (mail.localAgent)
    return deliverToLocalAgent({ signedMail, mail, delivery, localAgent: mail.localAgent }, gateway, deps.agents)
  const from = tokens.formatBounceAddress(delivery.agent, delivery.id)
  try {
    const { response, reply } = await gateway.system.submitMail({ ...mail.envelope, from }, signedMail)
    return { note: response, ...reply }
  } catch (error) {
    if (error instanceof Undeliverable && error.isDeadAddress) await suppressRecipient(mail, delivery, error, deps)
    throw error
  }
}

/**
 * Suppresses an address that the smarthost refused, like an address whose mail bounced. The gateway sends no more mail
 * there, to protect the reputation of all its mail.
 */
async function suppressRecipient(
  { envelope: { to } }: OutgoingMail,
  { agent, id }: Delivery,
  { message }: Undeliverable,
  { gateway, agents }: DeliverMailDeps,
): Promise<void> {
  const [peer = ''] = to
  const effect = { kind: 'relate', relation: 'suppressed', peer, target: message } as const
  const text = `No more mail to ${peer}: ${message}.`
  await recordSuppression({ agent, id: `refused:${id}`, text, flag: 'bounce_hard', effect }, { ...gateway, agents })
}

/**
 * Returns the signing time, which is the date of the mail, so that each attempt sends the same octets. A mail that is queued more than a day
 * after its date, for example because it is resumed, gets the time of queueing, so that its signature has not expired.
 */
function chooseSigningTime({ date }: OutgoingMail, { queuedAt }: Delivery): string {
  return queuedAt > Date.parse(date) + dayMs ? isoTime(queuedAt) : date
}

function createTokenFields(
  mail: OutgoingMail,
  { agent }: Delivery,
  { agents, config }: DeliverMailDeps,
  tokens: AddressTokens,
) {
  const [id = ''] = mail.messageId.split('@')
  const tag = mail.replyTo?.split('@')[0]?.slice(agent.length + 1)
  const plan = { response: id, tag, issuedAt: Date.parse(mail.date) }
  const tokenAddress = config.reply_tokens ? tokens.formatReplyAddress(agent, plan) : undefined
  const [mailbox = ''] = mail.envelope.to
  const unsubscribeUrl =
    mail.isLetter && agents.origin.startsWith('https:')
      ? `${agents.origin}/email/unsubscribe/${agent}/${tokens.formatUnsubscription({ agent, mailbox })}`
      : undefined
  return { replyTo: tokenAddress ?? mail.replyTo, hop: tokens.formatHop(agent, mail, id), unsubscribeUrl }
}

/**
 * Refuses to send to a suppressed address, because mail that bounces or gets complaints harms the reputation of all
 * other mail.
 */
async function refuseSuppressed(
  { agent }: Delivery,
  { envelope, isLetter }: OutgoingMail,
  { store }: Pick<ChannelContext, 'store'>,
): Promise<void> {
  const [peer = ''] = envelope.to
  const findSuppression = (to: string) => store.findRelation({ via: 'email', agent, relation: 'suppressed', peer: to })
  const relation =
    (await findSuppression(peer)) ?? (isLetter ? await findSuppression(unsolicitedMailKey(peer)) : undefined)
  if (!relation) return
  const reason = typeof relation.target === 'string' ? relation.target : 'suppressed'
  throw new Undeliverable(`Cannot send mail: this address is suppressed (${reason})`, { isSuppressed: true })
}
