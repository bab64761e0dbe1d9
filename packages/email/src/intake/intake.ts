// Accepts mail from any endpoint, and does the work that all endpoints share.

import { isoTime, Rejection } from '@postern/message'
import type { ChannelContext, Inbound, RefusalContext } from '@postern/pipeline'
import { createIntakeSteps, hasRefusal, receive, recordRefusal } from '@postern/pipeline'
import type { MailEnvelopeIn, RawMail } from '../mail/raw-mail.ts'
import { findRecipient } from '../mail/recipients.ts'
import { describeClaims } from './claims.ts'

export type MailIntake = ReturnType<typeof createMailIntake>

/** Creates the work that every mail endpoint does with a message. */
export function createMailIntake<Proven>(inbound: Inbound<RawMail, Proven>, gateway: ChannelContext) {
  const { admission, store, system, agents } = gateway
  const rawOf = (octets: Uint8Array, envelope: MailEnvelopeIn): RawMail => ({
    octets: withoutMboxLine(octets),
    envelope,
    receivedAt: isoTime(system.now()),
  })
  const withClaims = ({ claimed_sender: sender, agent, ...context }: RefusalContext): RefusalContext => ({
    ...context,
    ...describeClaims({ sender, recipients: agent?.split(', ') ?? [] }, agents),
  })
  const receptionOf = (context: RefusalContext) => {
    return { admission, store, system, steps: createIntakeSteps(system), ...withClaims(context) }
  }
  const record = (error: unknown, context: RefusalContext) => {
    if (!context.request || !hasRefusal(context.request))
      recordRefusal(error, inbound.name, { store, system, ...withClaims(context) })
  }
  return {
    /**
     * Accepts a mail for all its recipients. It resolves once the mail is durable. A server that forwards mail for others names the client.
     * @throws Rejection, Unavailable
     */
    accept: (octets: Uint8Array, envelope: MailEnvelopeIn, context: RefusalContext) =>
      receive(inbound, rawOf(octets, envelope), receptionOf({ ...context, from: envelope.ip ?? context.from })),
    /** Accepts a mail like `take`, with an outcome for each recipient of the envelope. The sender is judged once. */
    acceptEach(octets: Uint8Array, envelope: MailEnvelopeIn, context: RefusalContext) {
      const raw = rawOf(octets, envelope)
      const reception = receptionOf(context)
      const proof = inbound.verify(raw, reception.steps)
      return Promise.allSettled(
        envelope.to.map(address => receive(narrowInbound(inbound, proof, findAgent(address)), raw, reception)),
      )
    },
    /**
     * Refuses an address that belongs to no local agent.
     * @throws Rejection `no_recipient`
     */
    checkRecipient(address: string, context: RefusalContext): void {
      if (findAgent(address)) return
      const rejection = new Rejection('no_recipient', 'Cannot accept mail: no such agent here')
      record(rejection, { ...context, agent: address })
      throw rejection
    },
    /** Records a refusal from before a message was read, unless it is recorded already. */
    recordRefusal: record,
  }

  function findAgent(address: string): string | undefined {
    return findRecipient(address, agents)?.agent
  }
}

/** Removes the line of the mbox format (RFC 4155) that pipes of mail servers put before a message. */
function withoutMboxLine(octets: Uint8Array): Uint8Array {
  const start = Buffer.from(octets.buffer, octets.byteOffset, Math.min(octets.length, 1024)).toString('latin1')
  const line = /^From [^\s:][^\r\n]*\r?\n/.exec(start)?.[0]
  return line ? octets.subarray(line.length) : octets
}

/** Returns the inbound side for one agent only, with a proof that has already started. */
function narrowInbound<Proven>(
  inbound: Inbound<RawMail, Proven>,
  proof: Promise<Proven>,
  agent: string | undefined,
): Inbound<RawMail, Proven> {
  return {
    name: inbound.name,
    verify: () => proof,
    normalize: mail => inbound.normalize(mail).filter(intake => intake.agent === agent),
  }
}
